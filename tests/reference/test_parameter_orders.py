"""Orders of the parameters: Pinocchio's and iDynTree's against the libraries themselves, all of them there and back."""

import numpy as np
import pytest
from support import PEER, error, random_robot

import taupi as tp
from taupi.errors import TaupiError
from taupi.model.body import body_to_com
from taupi.model.parameters import ORDERS, Parameter, ParameterLayout

UR10 = "ur_description/urdf/ur10_robot.urdf"


@pytest.fixture(scope="module")
def robot(robots_dir):
    return tp.Robot.from_urdf(robots_dir / UR10, snap=False)


@pytest.fixture(scope="module")
def state():
    return np.random.default_rng(7).uniform(-2, 2, (3, 6))


def test_pinocchio(robots_dir, robot, state):
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(robots_dir / UR10))
    theirs = np.concatenate([inertia.toDynamicParameters() for inertia in list(model.inertias)[1:]])
    np.testing.assert_allclose(robot.parameters.to("pinocchio"), theirs, atol=1e-14)
    regressor = pin.computeJointTorqueRegressor(model, model.createData(), *state)
    ours = tp.regressor(robot)(*state)
    assert error(ours[:, robot.parameters.layout.order("pinocchio")], regressor) < PEER
    body = pin.Inertia.Random()
    ours = random_robot(0, joints=1).parameters.from_order(body.toDynamicParameters(), "pinocchio")
    m, c, inertia = body_to_com(ours.values)
    assert (m, *c) == pytest.approx((body.mass, *body.lever))
    np.testing.assert_allclose(inertia, body.inertia, atol=1e-14)


def test_idyntree(robots_dir, robot, state):
    idt = pytest.importorskip("idyntree.swig")
    loader = idt.ModelLoader()
    assert loader.loadModelFromFile(str(robots_dir / UR10))
    model = loader.model()
    each = [model.getLink(model.getLinkIndex(n)).getInertia().asVector().toNumPy() for n in robot.link_names]
    np.testing.assert_allclose(robot.parameters.to("idyntree"), np.concatenate(each), atol=1e-14)
    regressor = idyntree_regressor(idt, model, robot.joint_names, state)
    ours = tp.regressor(robot)(*state)
    assert error(ours[:, robot.parameters.layout.order("idyntree")], regressor) < PEER


def idyntree_regressor(idt, model, names, state):
    """Rows of the joints, columns of the moving links, of iDynTree's whole-body regressor (base first)."""
    kinematics = idt.KinDynComputations()
    assert kinematics.loadRobotModel(model)
    assert [model.getJointName(i) for i in range(model.getNrOfDOFs())] == list(names)
    q, qd, qdd = (idt.VectorDynSize.FromPython(v) for v in state)
    gravity = idt.Vector3.FromPython([0.0, 0.0, -9.81])
    assert kinematics.setRobotState(idt.Transform.Identity(), q, idt.Twist.Zero(), qd, gravity)
    regressor = idt.MatrixDynSize()
    still = idt.Vector6()
    still.zero()
    assert kinematics.inverseDynamicsInertialParametersRegressor(still, qdd, regressor)
    return regressor.toNumPy()[6:, 10:]


@pytest.mark.parametrize("order", ORDERS)
def test_there_and_back(order):
    parameters = random_robot(3, joints=4).parameters
    again = parameters.from_order(parameters.to(order), order)
    np.testing.assert_array_equal(again.values, parameters.values)
    assert sorted(parameters.layout.order(order)) == list(range(40))


def test_orders_of_the_documents_with_their_terms():
    links = ParameterLayout.of_links(["a", "b"])
    kinds = ("rotor", "viscous", "coulomb", "offset", "stiffness")
    terms = ParameterLayout(tuple(Parameter(f"j{i}", kind, "", i) for kind in kinds for i in range(2)))
    names = np.array((links + terms).names)

    def told(order):
        return " ".join(names[(links + terms).order(order)])

    assert told("zollo").startswith("a.m b.m a.mx a.my a.mz b.mx b.my b.mz a.Ixx a.Iyy a.Izz a.Ixy a.Ixz a.Iyz b.Ixx")
    assert told("zollo").endswith(
        "j0.rotor j1.rotor j0.coulomb j1.coulomb j0.viscous j1.viscous j0.stiffness j1.stiffness j0.offset j1.offset"
    )
    assert told("kubozono").startswith("a.Ixx a.Iyy a.Izz a.Ixy a.Ixz a.Iyz a.mx a.my a.mz a.m b.Ixx")
    assert told("symoro").startswith(
        "a.Ixx a.Ixy a.Ixz a.Iyy a.Iyz a.Izz a.mx a.my a.mz a.m j0.rotor j0.coulomb j0.viscous j0.offset b.Ixx"
    )
    assert told("sympybotics").startswith(
        "a.Ixx a.Ixy a.Ixz a.Iyy a.Iyz a.Izz a.mx a.my a.mz a.m j0.rotor j0.viscous j0.coulomb j0.offset b.Ixx"
    )
    assert told("spatial_v2").startswith("a.m a.mx a.my a.mz a.Ixx a.Iyy a.Izz a.Iyz a.Ixz a.Ixy b.m")


def test_selecting_by_name():
    layout = ParameterLayout.of_links(["upper.arm", "hand"])
    assert layout.select("*.mx") == (1, 11) and layout.select("upper.arm.*") == tuple(range(10))
    assert layout.take(layout.select(["hand.Izz", "hand.m"])).names == ("hand.Izz", "hand.m")
    assert layout.index("hand.Ixy") == 15
    with pytest.raises(TaupiError, match=r"Did you mean 'hand.Izz'"):
        layout.index("hand.Iz")
    with pytest.raises(TaupiError, match=r"No parameter order 'pinochio'.*Did you mean 'pinocchio'"):
        layout.order("pinochio")
