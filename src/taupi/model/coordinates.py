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
    def driving_joints(self) -> tuple[Joint, ...]:
        """The joint that owns each velocity, in the order of qd; a free joint owns six."""
        owner: dict[int, Joint] = {}
        for joint in self.joints:
            for k in range(joint.coordinate, joint.coordinate + joint.dof):
                if k not in owner or (owner[k].mimic and not joint.mimic):
                    owner[k] = joint
        return tuple(owner[k] for k in range(self.n))

    @cached_property
    def actuated(self) -> tuple[int, ...]:
        """The entries of qd that belong to a joint with one degree of freedom, which a motor can drive."""
        return tuple(k for k, joint in enumerate(self.driving_joints) if joint.kind not in MULTIPLE)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the velocities, in the order of qd: those of the joints that own them, `base.wx` ... of a free joint."""
        return tuple(j.velocity_names[k - j.coordinate] for k, j in enumerate(self.driving_joints))

    @property
    def position_names(self) -> tuple[str, ...]:
        """The names of the positions, in the order of q; those of the velocities, except for free and ball joints."""
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

    @property
    def elastic_joints(self) -> tuple[str, ...]:
        """The names of the joints that have a spring between motor and link, in the order of q."""
        return tuple(j.name for j in self.driving_joints if j.transmission.elastic)

    def path(self, link: int) -> tuple[int, ...]:
        """Return the joints from the base to link number `link`, base first."""
        result: list[int] = []
        while link != BASE:
            result.append(link)
            link = self.joints[link].parent
        return tuple(reversed(result))
