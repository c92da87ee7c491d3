"""What the gallery says of each document: its problem, how to make its figures and tables, which pictures are shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Story:
    """A page's words: `title`, the document's `problem` in three sentences, `python` lines, `shell` lines.

    `pictures` are the beginnings of the titles of pictures to show, in order; `tables` the names of tables; `more` are links.
    """

    title: str
    problem: str
    python: str
    shell: str
    pictures: tuple[str, ...]
    tables: tuple[str, ...]
    more: str


STORIES = {
    "gabiccini2009": Story(
        "From a DH table to two regressors",
        "The torque of an arm is linear in the masses, first moments and inertias of its links, but most ways to its equations "
        "hide that. Gabiccini, Bracci, De Carli, Fredianelli and Bicchi differentiate the Lagrangian by hand and keep the "
        "parameters apart from the start: blocks X, W and Z of each link side by side are the classical regressor Y and, with a "
        "reference velocity, Slotine and Li's Y_r. The planar elbow shows every block in full.",
        'arm = tp.load("elbow2r")\n'
        "both = tp.explicit_regressor(arm)\n"
        'print(both.link(2)["W0"])  # the block that is printed with a wrong b5\n'
        "Y, Y_r = both.reduced  # 2 x 8, as formulas\n"
        "parts = tp.closed_form.link_mass_blocks(arm)  # B of each link, linear in its parameters: (47), (49)",
        "taupi reproduce gabiccini2009 -o out\ntaupi regressor elbow2r --latex",
        ("Y_r pi",),
        ("blocks",),
        "[tutorial](../tutorials/gabiccini-elbow.md), [equations](../concepts/equations.md#gabiccini), "
        "[errata](../concepts/errata.md)",
    ),
    "lecture": Story(
        "A lecture's arm of two links",
        "What are the terms of M(q) q̈ + c(q, q̇) + g(q) = τ, what do they look like, and how large can they get? The lecture "
        "answers for an arm of two point masses, by Lagrange's and by Newton's and Euler's equations, in closed form and by "
        "recursion, and lists what holds for every arm. It ends with parameters, which enter linearly, and with a simulation.",
        'arm = tp.load("lecture2r")\n'
        "print(tp.mass_matrix(arm).sympy())\n"
        "limits = tp.bounds(arm, [(-1.5707963, 1.5707963)] * 2, tolerance=1e-3)\n"
        'print(limits["g_1"])\n'
        'masses = tp.operational.mass_ellipses(arm.bind(L1=1, L2=1, m1=1, m2=1), q=[0, 1.5707963], task="xy")\n'
        "figure = tp.plot(masses)  # forces and accelerations as arrows",
        "taupi reproduce lecture -o out\ntaupi bounds lecture2r",
        ("dtheta_2",),
        (),
        "[tutorial](../tutorials/lecture-2r.md), [equations](../concepts/equations.md#the-lecture), "
        "[errata](../concepts/errata.md)",
    ),
    "kubozono": Story(
        "Adaptive control in closed form and by recursion",
        "Adaptive laws are proved in closed form, with M, C and g as matrices, and should run by recursion, whose effort grows "
        "with the number of joints and not with its cube. Kubozono, Yamakita and Furuta write the recursion in spatial vectors, "
        "stack it, and find the closed form that it realises: of Niemeyer and Slotine's law it is Slotine and Li's, of Walker's "
        "another one. The stacks J, J_t, V_s, C₁, C₂ and C₃ are the bridge.",
        'arm = tp.load("puma560")\n'
        "J, J_t, V_s, inertia, C_1, C_2, C_3 = tp.closed_form.spatial_stacks(arm)([0.1] * 6, [0.2] * 6)\n"
        "H = J_t @ inertia @ J\n"
        "C = J_t @ (inertia @ V_s + (C_1 - C_2 - C_3) @ J / 2)",
        "taupi reproduce kubozono -o out\ntaupi control puma560 --law niemeyer-slotine",
        ("planar: V", "planar: |s|", "PUMA: V", "PUMA: |s|", "PUMA: where V rises"),
        (),
        "[tutorial](../tutorials/kubozono-forms.md), [equations](../concepts/equations.md#kubozono), "
        "[reference runs](../concepts/reference-runs.md), [errata](../concepts/errata.md)",
    ),
    "aldana": Story(
        "A planar arm of three links at its tip",
        "Teleoperation is done in the coordinates of the tip, and adapting there needs dynamics that are linear in "
        "unknown parameters, lengths among them. Aldana, Nuño and Basañez write them out for a planar arm of three links: 25 "
        "parameters and a regressor of 3 x 25, entry by entry. One sign of 75 entries is wrong, one parameter is another's copy, "
        "and 14 of the 25 columns are independent.",
        "lumped = tp.operational.planar_3r()  # the 3 x 25 regressor, its 25 parameters, how they are made\n"
        "print(lumped.regressor.shape, lumped.rank, lumped.parameters.names[:3])",
        "taupi reproduce aldana -o out\ntaupi emit planar3r operational-regressor -o out/c",
        ("force along y",),
        ("theta",),
        "[tutorial](../tutorials/aldana-3r.md), [equations](../concepts/equations.md#aldana), "
        "[errata](../concepts/errata.md)",
    ),
    "zollo2014": Story(
        "Robots with elastic joints, identified",
        "Behind a gear that gives way, motor and link move apart, and what is identified of a rigid robot is not all there is. "
        "Zollo, Lopez, Spedaliere, Garcia Aracil and Guglielmelli extend the regressor to 2n rows, 14n columns: links, rotors, "
        "springs and friction. They identify an arm of two joints and a PUMA 560 in simulation, encoders and noise included.",
        'arm = tp.load("zollo2r")\n'
        "Y = tp.elastic_regressor(arm)\n"
        "Y_B, Y_C, Y_oth = tp.elastic.regressor_parts(arm)\n"
        "base = tp.base_parameters(arm, elastic=True)\n"
        "print(base.count)",
        "taupi reproduce zollo2014 -o out",
        (
            "two joints, motion 100: torque",
            "two joints, motion 100: position",
            "two joints, motion 100, joint1: link and motor",
            "two joints, motion 100, joint2: link and motor",
            "friction of motor 1",
            "two joints: normalised mean error",
            "PUMA: torque u, joint1",
            "PUMA: torque u, joint4",
            "PUMA: position q, joint1",
            "PUMA: position q, joint4",
            "PUMA, joint1: link and motor",
            "PUMA, joint2: link and motor",
            "PUMA, joint3: link and motor",
        ),
        ("planar_noise", "table_3", "table_4", "table_5", "table_6"),
        "[tutorial](../tutorials/zollo-elastic.md), [equations](../concepts/equations.md#zollo), "
        "[reference runs](../concepts/reference-runs.md), [errata](../concepts/errata.md)",
    ),
}
