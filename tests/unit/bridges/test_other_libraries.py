"""Parameters set in objects of Pinocchio, Drake and the Robotics Toolbox: their own dynamics are asked."""

import sys

import numpy as np
import pytest
from problems import problem_of
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError, TaupiWarning

# Masses, centres and inertias pass through a few products of doubles; relative to the largest torque.
CLOSE = 1e-10
TERMS = ("rotor", "viscous", "coulomb")
URDF = """<robot name="three"><link name="base_link"/>
<joint name="turn" type="revolute"><origin xyz="0 0 .3" rpy="0 0 .4"/><parent link="base_link"/><child link="one"/>
<axis xyz="0 .6 .8"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
<link name="one"><inertial><origin xyz=".1 .02 0" rpy=".1 0 0"/><mass value="3"/>
<inertia ixx=".2" ixy=".01" ixz="0" iyy=".25" iyz=".02" izz=".3"/></inertial></link>
<joint name="slide" type="prismatic"><origin xyz=".4 .1 0" rpy="1 0 0"/><parent link="one"/><child link="two"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
<link name="two"><inertial><origin xyz="0 0 .2"/><mass value="2"/>
<inertia ixx=".1" ixy="0" ixz=".01" iyy=".12" iyz="0" izz=".15"/></inertial></link>
<joint name="mount" type="fixed"><origin xyz="0 0 .1" rpy="0 .3 0"/><parent link="two"/><child link="plate"/></joint>
<link name="plate"><inertial><origin xyz="0 0 .05"/><mass value=".5"/>
<inertia ixx=".01" ixy="0" ixz="0" iyy=".012" iyz="0" izz=".015"/></inertial></link>
<joint name="wrist" type="revolute"><origin xyz="0 .2 0"/><parent link="two"/><child link="three"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
<link name="three"><inertial><origin xyz="0 .1 .1"/><mass value="1"/>
<inertia ixx=".05" ixy="0" ixz="0" iyy=".06" iyz=".005" izz=".07"/></inertial></link></robot>
"""


@pytest.fixture
def described(tmp_path):
    (tmp_path / "three.urdf").write_text(URDF)
    return tp.load(tmp_path / "three.urdf")


@pytest.fixture
def fit(described):
    """A fit whose bodies are not those of the file."""
    truth = np.concatenate([described.parameters.values * 1.2, np.repeat([0.4, 0.5, 0.6], 3)])
    return tp.estimators.Feasible().fit(problem_of(described, truth, terms=TERMS))


def motion(n=3, samples=10):
    return np.random.default_rng(3).uniform(-1, 1, (3, samples, n))


def torques(robot, terms=()):
    return tp.inverse_dynamics(robot, terms=terms)(*motion(robot.n))


def impossible(robot):
    """The robot with a second link that no real body has."""
    pi = robot.parameters.values.reshape(-1, 10).copy()
    pi[1, 4] = -1.0
    return robot.with_parameters(pi.ravel())


# Pinocchio --------------------------------------------------------------------------------------------------------


class TestPinocchio:
    @pytest.fixture
    def pin(self):
        return pytest.importorskip("pinocchio")

    def rnea(self, pin, model):
        data = model.createData()
        return np.array([pin.rnea(model, data, *state) for state in zip(*motion(model.nv), strict=True)])

    def test_a_fit(self, pin, fit):
        model = pin.buildModelFromXML(URDF)
        assert fit.to_pinocchio(model) is model
        expected = torques(fit.robot_identified(), "rotor")
        assert np.abs(self.rnea(pin, model) - expected).max() < CLOSE * np.abs(expected).max()
        table = dict(zip(fit.parameters.names, fit.parameters.values, strict=True))
        for k, joint in enumerate(fit.robot.joint_names):
            assert model.damping[k] == pytest.approx(table[f"{joint}.viscous"])
            assert model.upperDryFrictionLimit[k] == pytest.approx(table[f"{joint}.coulomb"])
            assert model.lowerDryFrictionLimit[k] == -model.upperDryFrictionLimit[k]

    def test_other_frames(self, pin, fit, described, tmp_path):
        """A base that is turned and shifted, and a link frame that is another one: the same joints."""
        turned = URDF.replace('xyz="0 0 .3" rpy="0 0 .4"', 'xyz="1 0 .5" rpy="0 0 1.9"')
        model = pin.buildModelFromXML(turned)
        fit.to_pinocchio(model)
        expected = torques(fit.robot_identified(), "rotor")
        assert np.abs(self.rnea(pin, model) - expected).max() < 1e-8

    def test_a_floating_base(self, pin, described):
        free = described.floating_base()
        model = pin.buildModelFromXML(URDF, pin.JointModelFreeFlyer())
        heavy = free.with_parameters(free.parameters.values * 1.3)
        tp.bridges.to_pinocchio(heavy, model)
        masses = [i.mass for i in model.inertias][1:]
        assert masses == pytest.approx(heavy.parameters.values.reshape(-1, 10)[:, 0].tolist())

    def test_what_has_no_place_is_a_warning(self, pin, described):
        model = pin.buildModelFromXML(URDF)
        with pytest.warns(TaupiWarning, match=r"1 parameters have no place in a Pinocchio model: turn.offset"):
            tp.bridges.to_pinocchio(described.with_friction(offset=[1.0, 0, 0]), model)

    def test_bad_input(self, pin, described):
        with refused("model", got="three.urdf"):
            tp.bridges.to_pinocchio(described, "three.urdf")
        other = pin.buildModelFromXML(URDF.replace('name="wrist"', 'name="hand"'))
        with pytest.raises(TaupiError, match="has no joint 'wrist' of three; it has turn, slide, hand"):
            tp.bridges.to_pinocchio(described, other)
        longer = URDF.replace(
            "</robot>",
            """<joint name="finger" type="revolute"><parent link="three"/><child link="f"/>
            <axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint><link name="f"/></robot>""",
        )
        with pytest.raises(TaupiError, match=r"has joints that three does not have: finger.*buildReducedModel"):
            tp.bridges.to_pinocchio(described, pin.buildModelFromXML(longer))
        farther = pin.buildModelFromXML(URDF.replace('rpy="1 0 0"', 'rpy="1.2 0 0"'))
        with pytest.raises(TaupiError, match="is another arm than three"):
            tp.bridges.to_pinocchio(described, farther)
        with pytest.raises(TaupiError, match="has elastic joints"):
            tp.bridges.to_pinocchio(described.with_transmissions(stiffness=100.0), pin.buildModelFromXML(URDF))
        turning = pin.buildModelFromXML(URDF.replace("prismatic", "revolute"))
        with pytest.raises(TaupiError, match="another arm than three: slide turns there, and slides in three"):
            tp.bridges.to_pinocchio(described, turning)
        with pytest.raises(
            TaupiError, match=r"Pinocchio takes real bodies only, and two is not one.*estimator='feasible'"
        ):
            tp.bridges.to_pinocchio(impossible(described), pin.buildModelFromXML(URDF))

    def test_dry_friction_that_pushes_is_left_out_with_a_warning(self, pin, described):
        model = pin.buildModelFromXML(URDF)
        with pytest.warns(TaupiWarning, match=r"1 parameters have no place in a Pinocchio model: slide.coulomb"):
            tp.bridges.to_pinocchio(described.with_friction(coulomb=[1.0, -1.0, 2.0]), model)
        assert model.friction.tolist() == [1.0, 0.0, 2.0]


# Drake ------------------------------------------------------------------------------------------------------------


class TestDrake:
    @pytest.fixture
    def plant(self):
        multibody = pytest.importorskip("pydrake.multibody.plant")
        from pydrake.multibody.parsing import Parser

        plant = multibody.MultibodyPlant(0.0)
        Parser(plant).AddModelsFromString(URDF, "urdf")
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base_link"))
        return plant

    def inverse(self, plant, context):
        from pydrake.multibody.tree import MultibodyForces

        result = []
        order = [plant.GetJointByName(n).velocity_start() for n in ("turn", "slide", "wrist")]
        for q, qd, qdd in zip(*motion(), strict=True):
            plant.SetPositions(context, q[np.argsort(order)])
            plant.SetVelocities(context, qd[np.argsort(order)])
            forces = MultibodyForces(plant)
            plant.CalcForceElementsContribution(context, forces)  # gravity and damping
            result.append(plant.CalcInverseDynamics(context, qdd[np.argsort(order)], forces)[order])
        return np.array(result)

    def test_a_fit(self, plant, fit):
        for name in ("turn", "slide", "wrist"):
            plant.AddJointActuator(name, plant.GetJointByName(name)).set_default_gear_ratio(10.0)
        plant.Finalize()
        with pytest.warns(
            TaupiWarning, match=r"3 parameters have no place in a Drake plant: turn.coulomb, slide.coulomb"
        ):
            context = fit.to_drake(plant)
        expected = torques(fit.robot_identified(), ("viscous", "rotor"))
        assert np.abs(self.inverse(plant, context) - expected).max() < CLOSE * np.abs(expected).max()
        assert plant.GetBodyByName("plate").get_mass(context) == pytest.approx(0.5)  # keeps its own

    def test_a_context_that_is_there(self, plant, fit):
        plant.Finalize()
        context = plant.CreateDefaultContext()
        with pytest.warns(TaupiWarning, match=r"6 parameters .* turn.rotor"):  # no actuators
            assert fit.to_drake(plant, context) is context
        expected = torques(fit.robot_identified(), "viscous")
        assert np.abs(self.inverse(plant, context) - expected).max() < CLOSE * np.abs(expected).max()

    def test_rotors_without_an_actuator_and_friction_that_pushes_are_named(self, plant, described):
        plant.AddJointActuator("turn", plant.GetJointByName("turn"))
        plant.Finalize()
        real = described.with_friction(viscous=[1.0, -1.0, 2.0]).with_transmissions(rotor_inertia=[0.3, 0.2, 0.1])
        with pytest.warns(TaupiWarning, match=r"3 parameters .* plant: slide.rotor, wrist.rotor, slide.viscous"):
            context = tp.bridges.to_drake(real, plant)
        placed = described.with_friction(viscous=[1.0, 0, 2.0]).with_transmissions(rotor_inertia=[0.3, 0, 0])
        expected = torques(placed, ("viscous", "rotor"))
        assert np.abs(self.inverse(plant, context) - expected).max() < CLOSE * np.abs(expected).max()

    def test_what_is_welded_gives_way_where_no_real_body_is_left(self, plant, described):
        plant.Finalize()
        pi = described.parameters.values.reshape(-1, 10).copy()
        pi[1] /= 20
        light = described.with_parameters(pi.ravel())
        context = tp.bridges.to_drake(light, plant)
        assert plant.GetBodyByName("plate").get_mass(context) == 0
        expected = torques(light)
        assert np.abs(self.inverse(plant, context) - expected).max() < CLOSE * np.abs(expected).max()

    def test_bad_input(self, plant, described):
        with pytest.raises(TaupiError, match="plant is not finalized"):
            tp.bridges.to_drake(described, plant)
        plant.Finalize()
        with refused("plant", got=3):
            tp.bridges.to_drake(described, 3)
        with pytest.raises(TaupiError, match="The plant has no joint"):
            tp.bridges.to_drake(tp.load("ur10"), plant)
        with pytest.raises(TaupiError, match="a free base or ball joints"):
            tp.bridges.to_drake(described.floating_base(), plant)
        with pytest.raises(TaupiError, match="has elastic joints"):
            tp.bridges.to_drake(described.with_transmissions(stiffness=100.0), plant)
        coupled = described.with_coupling([[1, 0, 0], [0, 1, 0], [0, 1, 1]])
        with pytest.raises(TaupiError, match="in the coordinates of motors"):
            tp.bridges.to_drake(coupled, plant)
        with pytest.raises(TaupiError, match=r"Drake takes real bodies only, and two is not one.*estimator='feasible'"):
            tp.bridges.to_drake(impossible(described), plant)
        with refused("context", got=3):
            tp.bridges.to_drake(described, plant, 3)
        other = type(plant)(0.0)
        other.Finalize()
        with pytest.raises(TaupiError, match=r"expected a context of this plant.*GetMyMutableContextFromRoot"):
            tp.bridges.to_drake(described, plant, other.CreateDefaultContext())


# Robotics Toolbox -------------------------------------------------------------------------------------------------


class TestRoboticsToolbox:
    @pytest.fixture(autouse=True)
    def rtb(self):
        return pytest.importorskip("roboticstoolbox")

    @pytest.mark.parametrize("name", ["three", "puma560", "panda"])
    def test_dynamics_and_the_tip(self, described, name):
        robot = described if name == "three" else tp.load(name)
        theirs = robot.to_rtb()
        q, qd, qdd = motion(robot.n)
        expected = tp.inverse_dynamics(robot, terms=(*TERMS, "offset"))(q, qd, qdd)
        assert np.abs(theirs.rne(q, qd, qdd) - expected).max() < 1e-9 * np.abs(expected).max()
        if robot.tip:
            np.testing.assert_allclose(theirs.fkine(q[0]).A, tp.forward_kinematics(robot)(q[0]), atol=1e-12)

    def test_friction_and_limits(self, described):
        arm = described.with_friction(viscous=[1, 2, 3], coulomb=0.5, offset=[0.1, 0, 0])
        theirs = arm.with_transmissions(rotor_inertia=0.01, gear_ratio=10).to_rtb()
        terms = ("viscous", "coulomb", "offset")
        links = [link for link in theirs.links if link.isjoint]
        for speeds in np.array([[0.3, -0.2, 0.5], [-0.4, 0.1, -0.3]]):
            state = np.zeros(3), speeds, np.zeros(3)
            expected = tp.inverse_dynamics(arm, terms=terms)(*state) - tp.inverse_dynamics(arm)(*state)
            friction = [-link.friction(v) for link, v in zip(links, speeds, strict=True)]
            assert friction == pytest.approx(expected.tolist())
        assert [float(link.G**2 * link.Jm) for link in links] == pytest.approx([1.0] * 3)
        assert links[0].qlim.tolist() == [-3, 3] and [link.name for link in links] == list(arm.link_names)

    def test_a_fit(self, fit):
        theirs = tp.bridges.to_rtb(fit)
        expected = torques(fit.robot_identified(), TERMS)
        assert np.abs(theirs.rne(*motion()) - expected).max() < 1e-9 * np.abs(expected).max()

    def test_bad_input(self, described):
        with pytest.raises(TaupiError, match="has elastic joints"):
            described.with_transmissions(stiffness=100.0).to_rtb()
        with pytest.raises(TaupiError, match="base follow other joints or have several degrees of freedom"):
            described.floating_base().to_rtb()


@pytest.mark.parametrize(
    ("module", "call", "extra"),
    [
        ("pinocchio", lambda arm: tp.bridges.to_pinocchio(arm, None), "pinocchio"),
        ("pydrake.multibody.tree", lambda arm: tp.bridges.to_drake(arm, None), "drake"),
        ("roboticstoolbox", lambda arm: arm.to_rtb(), "rtb"),
    ],
)
def test_without_the_package_its_extra_is_named(module, call, extra, described, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    name = module.partition(".")[0]
    with pytest.raises(TaupiError, match=rf"needs {name}, which is not installed.*pip install 'taupi\[{extra}\]'"):
        call(described)
