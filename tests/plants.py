"""Our arms as models of other libraries: plants that share no code with ours."""

import numpy as np
import pinocchio as pin

from taupi.model.scalars import to_float


def pinocchio_model(arm):
    """A serial arm of turning joints as a Pinocchio model, joint by joint from our link frames and bodies."""
    model, known = pin.Model(), dict(arm.symbols)
    model.gravity.linear = np.array([to_float(g, "g", known) for g in arm.gravity])
    parent, placement = 0, pin.SE3.Identity()
    for joint, link in zip(arm.joints, arm.links, strict=True):
        before, after = (pin.SE3(*_matrices(p, known)) for p in (joint.before, joint.after))
        axis = np.array([to_float(v, "axis", known) for v in joint.axis])
        parent = model.addJoint(parent, pin.JointModelRevoluteUnaligned(axis), placement * before, joint.name)
        ten = np.array([to_float(v, "body", known) for v in link.body])
        model.appendBodyToJoint(parent, _inertia(ten), after)
        placement = after
    return model


def _matrices(p, known):
    rows = [[to_float(v, "R", known) for v in row] for row in p.rotation]
    return np.array(rows), np.array([to_float(v, "p", known) for v in p.translation])


def _inertia(ten):
    """Ours: m, h, xx, xy, xz, yy, yz, zz; theirs has yy before xz, and divides by the mass."""
    if ten[0] == 0:
        xx, xy, xz, yy, yz, zz = ten[4:]
        return pin.Inertia(0.0, np.zeros(3), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    return pin.Inertia.FromDynamicParameters(ten[[0, 1, 2, 3, 4, 5, 7, 6, 8, 9]])
