"""How a robot's joints are numbered: which entries of q and qd belong to which joint, and what they are called."""

from __future__ import annotations

from functools import cached_property

from taupi.model.robot_parts import BASE, FREE, MULTIPLE, Joint


class Coordinates:
    """What follows from the joints of a robot alone: the order of q and qd, which joints are elastic, how links are connected."""

    joints: tuple[Joint, ...]

    @property
    def n(self) -> int:
        """The number of velocities; a joint that mimics another adds none, a free joint six and a ball joint three."""
        return max(j.coordinate + j.dof for j in self.joints)

    @property
    def nq(self) -> int:
        """The number of positions: n, and one more for each quaternion."""
        return self.n + len(self.multiple_joints)

    @property
    def floating(self) -> bool:
        """Whether the base moves freely: the first joint is then a free one."""
        return self.joints[0].kind == FREE

    @cached_property
    def multiple_joints(self) -> tuple[Joint, ...]:
        """The joints with several degrees of freedom, free and ball joints."""
        return tuple(j for j in self.joints if j.kind in MULTIPLE)

    @cached_property
    def single_joints(self) -> tuple[Joint, ...]:
        """The joints with one degree of freedom: all but free and ball joints."""
        return tuple(j for j in self.joints if j.kind not in MULTIPLE)

    @property
    def base_dof(self) -> int:
        """The number of velocities of a base that moves freely, which come first in qd: 6, or 0 if it is bolted to the ground."""
        return sum(j.dof for j in self.joints if j.kind == FREE)

    @cached_property
    def driving_joints(self) -> tuple[Joint, ...]:
        """The joint that owns each velocity, in the order of qd; a free joint owns six."""
        owner: dict[int, Joint] = {}
        for joint in self.joints:
            for k in range(joint.coordinate, joint.coordinate + joint.dof):
                if k not in owner or (owner[k].mimic and not joint.mimic):
                    owner[k] = joint
        return tuple(owner[k] for k in range(self.n))

    @cached_property
    def following_joints(self) -> tuple[Joint, ...]:
        """The joints without a velocity of their own, which others move at a ratio."""
        own = {joint.name for joint in self.driving_joints}
        return tuple(j for j in self.joints if j.name not in own)

    @cached_property
    def actuated(self) -> tuple[int, ...]:
        """The entries of qd that belong to a joint with one degree of freedom, which a motor can drive."""
        return tuple(k for k, joint in enumerate(self.driving_joints) if joint.kind not in MULTIPLE)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the velocities, in the order of qd: the names of their joints, or `base.wx` ... for a free joint."""
        return tuple(j.velocity_names[k - j.coordinate] for k, j in enumerate(self.driving_joints))

    @property
    def position_names(self) -> tuple[str, ...]:
        """The names of the positions, in the order of q; the same as of the velocities, except for free and ball joints."""
        owners = dict.fromkeys(self.driving_joints)
        return tuple(name for joint in owners for name in joint.position_names)

    @cached_property
    def slides(self) -> tuple[bool, ...]:
        """Whether each velocity is in m/s rather than in rad/s."""
        linear = (j.prismatic or k - j.coordinate >= 3 for k, j in enumerate(self.driving_joints))
        return tuple(linear)

    def position_index(self, coordinate: int) -> int:
        """Return the index in q at which the joint at `coordinate` in qd starts: each quaternion before it adds one."""
        return coordinate + sum(j.coordinate < coordinate for j in self.multiple_joints)

    @property
    def is_serial(self) -> bool:
        """Whether every joint is mounted on the link before it."""
        return all(j.parent == i - 1 for i, j in enumerate(self.joints))

    @cached_property
    def elastic_coordinates(self) -> tuple[int, ...]:
        """The entries of qd whose joints have a spring between motor and link."""
        return tuple(k for k, joint in enumerate(self.driving_joints) if joint.transmission.elastic)

    @property
    def elastic_joints(self) -> tuple[str, ...]:
        """The names of the joints that have a spring between motor and link, in the order of q."""
        return tuple(self.driving_joints[k].name for k in self.elastic_coordinates)

    def path(self, link: int) -> tuple[int, ...]:
        """Return the joints from the base to link number `link`, base first."""
        result: list[int] = []
        while link != BASE:
            result.append(link)
            link = self.joints[link].parent
        return tuple(reversed(result))
