"""Distances between the collision meshes of a URDF by Pinocchio and coal, which share no code with our capsules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from taupi.excitation.geometry.arrangement import Pair


class MeshDistances:
    """Distances of pairs of moving links: of the triangles of their meshes, 0 where they touch or cross."""

    def __init__(self, urdf: Path, packages: Path, pairs: Sequence[Pair], locked: Sequence[str] = ()) -> None:
        import pinocchio as pin

        self.pin = pin
        model = pin.buildModelFromUrdf(str(urdf))
        geometry = pin.buildGeomFromUrdf(model, str(urdf), pin.GeometryType.COLLISION, package_dirs=[str(packages)])
        self.model, geometry = pin.buildReducedModel(
            model, geometry, [model.getJointId(name) for name in locked], np.zeros(model.nq)
        )
        of_joint: dict[int, list[int]] = {}
        for k, item in enumerate(geometry.geometryObjects):
            of_joint.setdefault(item.parentJoint, []).append(k)
        self.pairs = sorted(set(pairs))
        self.groups = []
        for pair in self.pairs:
            one, two = (
                self.model.frames[self.model.getFrameId(name)].parentJoint for name in (pair.first, pair.second)
            )
            start = len(geometry.collisionPairs)
            for i in of_joint[one]:
                for j in of_joint[two]:
                    geometry.addCollisionPair(pin.CollisionPair(i, j))
            self.groups.append(range(start, len(geometry.collisionPairs)))
        self.geometry = geometry
        self._data, self._results = self.model.createData(), geometry.createData()

    def __call__(self, q: np.ndarray) -> np.ndarray:
        """Return the distances (N, pairs) in m at positions (N, n)."""
        result = np.empty((len(q), len(self.pairs)))
        for k, state in enumerate(q):
            self.pin.computeDistances(self.model, self._data, self.geometry, self._results, self._full(state))
            each = [r.min_distance for r in self._results.distanceResults]
            result[k] = [max(min(each[i] for i in group), 0.0) for group in self.groups]
        return result

    def _full(self, q: np.ndarray) -> np.ndarray:
        """Return a configuration of Pinocchio, which has cosine and sine of continuous joints."""
        values = []
        for joint, value in zip(self.model.joints[1:], q, strict=True):
            values += [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
        return np.array(values)
