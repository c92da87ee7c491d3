"""Random MJCF files, each with several features of the language at once."""

import numpy as np

_TETRAHEDRON = "0 0 0  .2 0 .01  .02 .15 0  .01 .02 .3"
_HULL = "0 0 0 .2 0 0 .2 .1 0 0 .1 0 0 0 .3 .2 0 .25 .2 .1 .3 0 .1 .35"


class Writer:
    """One random file: `text` is its text, `others` the files that it includes or attaches, by name."""

    def __init__(self, seed, floating=None):
        self.rng = np.random.default_rng(seed)
        self.count = 0
        self.hinges, self.bodies, self.others = [], [], {}
        self.radian = self.flip()
        self.floating = self.flip() if floating is None else floating
        self.text = self._file()

    def flip(self, probability=0.5):
        return bool(self.rng.random() < probability)

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def name(self, what):
        self.count += 1
        return f"{what}{self.count}"

    def numbers(self, count, scale=1.0):
        return " ".join(f"{v:.7g}" for v in scale * self.rng.standard_normal(count))

    def positive(self, count, low, high):
        return " ".join(f"{v:.7g}" for v in self.rng.uniform(low, high, count))

    def angle(self, value):
        return value if self.radian else np.degrees(value)

    def turned(self):
        """An orientation, in one of the language's ways."""
        x, y = self.rng.standard_normal((2, 3))
        return self.pick(
            "",
            f'quat="{self.numbers(4)}"',
            f'euler="{" ".join(f"{self.angle(v):.6g}" for v in self.rng.uniform(-3, 3, 3))}"',
            f'axisangle="{self.numbers(3)} {self.angle(self.rng.uniform(-3, 3)):.6g}"',
            f'xyaxes="{" ".join(f"{v:.6g}" for v in (*x, *y))}"',
            f'zaxis="{self.numbers(3)}"',
        )

    # Shapes and inertia -----------------------------------------------------------------------------------------------

    def shape(self):
        weight = self.pick("", f'mass="{self.positive(1, 0.1, 2)}"', f'density="{self.positive(1, 200, 3000)}"')
        place = f'pos="{self.numbers(3, 0.1)}" {self.turned()}'
        kind = self.pick("sphere", "capsule", "cylinder", "box", "ellipsoid", "fromto", "mesh", "class")
        group = f'group="{self.rng.integers(0, 5)}"'
        if kind == "mesh":
            mesh = self.pick("hull", "shell", "tetrahedron")
            return f'<geom type="mesh" mesh="{mesh}" {place} {weight} {group}/>'
        if kind == "class":
            return f'<geom class="heavy" {place}/>'
        shell = "" if kind == "ellipsoid" else self.pick("", "", 'shellinertia="true"')
        if kind == "fromto":
            what = self.pick("capsule", "cylinder")
            return f'<geom type="{what}" size=".04" fromto="{self.numbers(6, 0.2)}" {weight} {shell}/>'
        return f'<geom type="{kind}" size="{self.positive(3, 0.02, 0.2)}" {place} {weight} {shell} {group}/>'

    def inertia(self):
        """An <inertial>, shapes, or both."""
        place = f'mass="{self.positive(1, 0.2, 5)}" pos="{self.numbers(3, 0.1)}"'
        moments = np.sort(self.rng.uniform(0.02, 0.03, 3))
        full = " ".join(f"{v:.6g}" for v in (*moments, *0.002 * self.rng.standard_normal(3)))
        stated = self.pick(
            f'<inertial {place} diaginertia="{" ".join(f"{v:.6g}" for v in moments)}" {self.turned()}/>',
            f'<inertial {place} fullinertia="{full}"/>',
        )
        shapes = '<geom size=".05" pos=".02 0 0"/>' + "".join(self.shape() for _ in range(self.rng.integers(1, 4)))
        return self.pick(stated, shapes, stated + shapes)

    # Joints and bodies ------------------------------------------------------------------------------------------------

    def joint(self, ball):
        name = self.name("j")
        place = self.pick("", f'pos="{self.numbers(3, 0.1)}"')
        if ball:
            return f'<joint name="{name}" type="ball" {place}/>'
        kind = self.pick("hinge", "hinge", "slide")
        self.hinges.append(name)
        unit = 1.0 if kind == "slide" else self.angle(1.0)
        extra = [
            self.pick("", f'armature="{self.positive(1, 0, 0.1)}"'),
            self.pick("", f'damping="{self.positive(1, 0, 1)}" frictionloss="{self.positive(1, 0, 1)}"'),
            self.pick("", f'ref="{0.3 * unit:.6g}"'),
            self.pick("", f'stiffness="{self.positive(1, 1, 9)}" springref="{0.1 * unit:.6g}"'),
            self.pick("", f'range="{-2 * unit:.6g} {unit:.6g}"', 'limited="false"', 'range="-inf inf"'),
            self.pick("", 'class="leg"'),
        ]
        named = self.pick(f'name="{name}"', f'name="{name}" user="1 2"')
        return f'<joint {named} type="{kind}" axis="{self.numbers(3)}" {place} {" ".join(extra)}/>'

    def body(self, depth, free=False):
        name = self.name("b")
        self.bodies.append(name)
        joints = [self.pick("<freejoint/>", '<joint type="free"/>', '<freejoint align="true"/>')] if free else []
        if not free:
            count = self.pick(0, 1, 1, 1, 2, 3)
            joints = [self.joint(ball=False) for _ in range(count)]
            if self.flip(0.15):
                joints.append(self.joint(ball=True))
        children = [self.body(depth - 1) for _ in range(self.pick(0, 1, 1, 2))] if depth else []
        children = [self.wrapped(child) for child in children]
        inherited = self.pick("", 'childclass="leg"')
        attributes = f'name="{name}" pos="{self.numbers(3, 0.3)}" {self.turned()} {inherited}'
        site = f'<site name="{self.name("s")}" pos="{self.numbers(3, 0.1)}" {self.turned()}/>'
        comment = self.pick("", "<!-- a -- comment that MuJoCo reads -->")
        return f"<body {attributes}>{comment}{''.join(joints)}{self.inertia()}{site}{''.join(children)}</body>"

    def wrapped(self, body):
        """A body as it is, in a frame, or included from another file."""
        way = self.pick("as it is", "frame", "include")
        if way == "frame":
            return f'<frame pos="{self.numbers(3, 0.1)}" {self.turned()}>{body}</frame>'
        if way == "include":
            file = f"{self.name('part')}.xml"
            self.others[file] = f"<mujocoinclude>{body}</mujocoinclude>"
            return f'<include file="{file}"/>'
        return body

    def attached(self):
        """A frame with a model of its own attached, and the asset that names its file."""
        part = (
            '<mujoco model="part"><compiler angle="radian"/><default><joint axis="1 2 3"/></default><worldbody>'
            '<body name="root" pos=".1 .2 .3"><joint name="j" armature=".01"/><geom type="box" size=".1 .05 .02"/>'
            '<body name="end" pos="0 0 .2" euler=".1 .2 .3"><joint name="k" type="slide"/><geom size=".03"/></body>'
            "</body></worldbody></mujoco>"
        )
        self.others["attached.xml"] = part
        frame = (
            f'<frame pos="{self.numbers(3)}" {self.turned()}><attach model="part" body="root" prefix="arm_"/></frame>'
        )
        return frame, '<model name="part" file="attached.xml"/>'

    def replicated(self):
        step = 0.7 if self.radian else 40
        return (
            f'<replicate count="3" euler="0 0 {step}" offset=".01 0 0"><body name="spoke" pos=".4 0 0">'
            '<joint name="turn" axis="0 1 .2"/><geom type="capsule" size=".02 .1" pos=".1 0 0"/></body></replicate>'
        )

    # The file ---------------------------------------------------------------------------------------------------------

    def _file(self):
        trunk = ""
        while len(self.hinges) < 2:
            self.hinges, self.bodies, self.others = [], [], {}
            trunk = self.body(3, free=self.floating)
        inside, assets = "", ""
        if self.flip(0.3):
            inside, assets = self.attached()
        if self.flip(0.3):
            inside += self.replicated()
        trunk = trunk[: trunk.rindex("</body>")] + inside + "</body>"
        second = self.pick("", "", '<body name="prop" pos="1 1 1"><freejoint/><geom size=".1"/></body>')
        return (
            f'<mujoco model="random">{self.compiler()}{self.options()}{self.defaults()}'
            f'<asset>{self.meshes()}{assets}</asset><worldbody><light pos="0 0 3"/><geom type="plane" size="1 1 .1"/>'
            f"{trunk}{second}</worldbody>{self.after()}</mujoco>"
        )

    def compiler(self):
        sequence = self.pick("xyz", "zyx", "XYZ", "ZXZ", "yzx", "XZY")
        extra = [
            self.pick("", 'inertiafromgeom="true"', 'inertiafromgeom="auto"'),
            self.pick("", 'balanceinertia="true"', 'boundmass=".5" boundinertia=".01"'),
            self.pick("", "", 'discardvisual="true"'),
            self.pick("", "", 'fusestatic="true"'),
            self.pick("", "", 'inertiagrouprange="0 3"'),
            self.pick("", 'autolimits="true"'),
        ]
        unit = "radian" if self.radian else "degree"
        # A body may have nothing but shapes of a group that has no mass: the least mass and inertia make it a body still.
        least = '<compiler boundmass=".01" boundinertia=".0001"/>'
        return f'{least}<compiler angle="{unit}" eulerseq="{sequence}" {" ".join(extra)}/>'

    def options(self):
        flag = self.pick("", "", '<flag gravity="disable"/>')
        return (
            f'<option gravity="{self.pick("0 0 -9.81", "1 2 -9", "0 0 0")}" integrator="implicitfast">{flag}</option>'
        )

    def defaults(self):
        return (
            '<default><geom density="700" rgba="1 0 0 1"/><joint damping=".05"/><default class="leg">'
            f'<joint armature="{self.positive(1, 0.001, 0.1)}" axis="0 1 0"/><geom density="1500"/><default class="heavy">'
            '<geom type="box" size=".05 .06 .07" density="2500"/></default></default></default>'
        )

    def meshes(self):
        inertia = self.pick("convex", "exact", "legacy")
        scale = self.pick("", 'scale="1.2 .8 1"')
        return (
            f'<mesh name="hull" vertex="{_HULL}" {scale}/>'
            f'<mesh name="shell" vertex="{_HULL}" inertia="shell" refpos=".01 .02 0" refquat="1 .2 0 .1"/>'
            f'<mesh name="tetrahedron" vertex="{_TETRAHEDRON}" face="0 2 1 0 1 3 0 3 2 1 2 3" inertia="{inertia}"/>'
        )

    def after(self):
        """Equalities, tendons, actuators, sensors: what is beside the tree."""
        first, *others = self.rng.permutation(self.hinges).tolist()
        parts = [f'<actuator><motor joint="{first}" gear="{self.pick("1", "-3", "20")}"/></actuator>']
        if others and self.flip():
            coefficients = f"{self.numbers(1)} {self.pick('1', '-1', '.5')} 0 0 0"
            rows = [f'<joint joint1="{others[0]}" joint2="{first}" polycoef="{coefficients}"/>']
            rows += [f'<joint joint1="{name}" polycoef="{self.numbers(1, 0.2)} 0 0 0 0"/>' for name in others[1:2]]
            rows += [f'<joint joint1="{a}" joint2="{b}" active="false"/>' for a, b in [(first, others[0])]]
            rows += [f'<joint joint1="{others[2]}" joint2="{others[0]}"/>'] if len(others) > 2 else []
            parts.append(f"<equality>{''.join(rows)}</equality>")
        if self.flip(0.3):
            parts.append(f'<equality><connect body1="{self.bodies[-1]}" anchor="{self.numbers(3, 0.1)}"/></equality>')
        if self.flip(0.3):
            joints = f'<joint joint="{first}" coef="1"/>'
            parts.append(f'<tendon><fixed name="t">{joints}</fixed></tendon><sensor><tendonpos tendon="t"/></sensor>')
        parts.append('<custom><numeric name="n" data="inf 1"/></custom>')
        return "".join(parts)
