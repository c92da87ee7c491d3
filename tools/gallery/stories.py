"""What the gallery says about each document: its problem, how to make its figures and tables, which pictures are shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Story:
    """A page's words: `title`, the document's `problem` in three sentences, `python` lines, `shell` lines.

    `today` says what one `call` gives, `seen` what the picture beside what the authors could not do shows.
    `pictures` are the beginnings of the titles of pictures to show, in order; `tables` the names of tables; `more` are links.
    """

    title: str
    problem: str
    today: str
    call: str
    seen: str
    python: str
    shell: str
    pictures: tuple[str, ...]
    tables: tuple[str, ...]
    more: str
    drawn: str  # which pictures are the document's, redrawn, and which are ours
    own: str = ""  # the name of a picture that `pages` draws beside those of the study
    lead: bool = False  # its first note is at the top
    slow: bool = False  # its commands take a minute: the tests of pages do not run them


STORIES = {
    "gabiccini2009": Story(
        "From a DH table to two regressors",
        "The torque of an arm is linear in the masses, first moments and inertias of its links, but most ways to its equations "
        "hide that. Gabiccini, Bracci, De Carli, Fredianelli and Bicchi differentiate the Lagrangian by hand and keep the "
        "parameters apart from the start: blocks X, W and Z of each link side by side are the classical regressor Y and, with a "
        "reference velocity, Slotine and Li's Y_r. The planar elbow shows every block in full.",
        "Both regressors of any arm, as formulas, from its table or file, and every block of every link.",
        'both = tp.explicit_regressor(tp.load("elbow2r"))',
        "How many characters each entry of Y_r of a seven-joint arm has, as a formula",
        'arm = tp.load("elbow2r")\n'
        "both = tp.explicit_regressor(arm)\n"
        "Y, Y_r = both.reduced  # 2 x 8, as formulas of SymPy\n"
        "print(both.link(1))  # X, W, Z of the second link; W is printed with a wrong b5\n"
        'print(both.link(1, "momentum").mathematica(time="t"))  # dT/dqd, in q(t)\n'
        "B0, B1, B2 = tp.closed_form.link_mass_tensors(arm)([0.1, 0.2])  # (49), (52)",
        "taupi reproduce gabiccini2009 -o out\ntaupi explicit elbow2r regressor",
        ("Y_r pi",),
        ("blocks",),
        "[tutorial](../tutorials/gabiccini-elbow.md), [equations](../concepts/equations.md#gabiccini), "
        "[errata](../concepts/errata.md)",
        "The paper draws no motion. This is ours: the torque of one joint by its Y_r, as printed and as corrected.",
    ),
    "lecture": Story(
        "A lecture's arm of two links",
        "What are the terms of M(q) q̈ + c(q, q̇) + g(q) = τ, what do they look like, and how large can they get? The lecture "
        "answers for an arm of two point masses, by Lagrange's and by Newton's and Euler's equations, in closed form and by "
        "recursion, and lists what holds for every arm. It ends with parameters, which enter linearly, and with a simulation.",
        "Every term of an arm, as a formula or as a fast program, and bounds of M, c and g that are certain, not sampled.",
        'limits = tp.bounds(tp.load("lecture2r"), (-1.5707963, 1.5707963))',
        "Norms of M of the PUMA 560 at random configurations, between bounds that are certain",
        'arm = tp.load("lecture2r")\n'
        "print(tp.mass_matrix(arm).sympy())\n"
        'print(tp.closed_form.bound_formulas(arm, (-1.5707963, 1.5707963))["g_1"])\n'
        "masses = tp.operational.mass_ellipses(arm.bind(L1=1, L2=1, m1=1, m2=1), [0, 1.5707963])\n"
        "figure = tp.plot(masses, arrows=8)  # accelerations, and the forces that they take",
        "taupi reproduce lecture -o out\ntaupi bounds lecture2r",
        ("dtheta_2",),
        (),
        "[tutorial](../tutorials/lecture-2r.md), [equations](../concepts/equations.md#the-lecture), "
        "[errata](../concepts/errata.md)",
        "Redrawn: unit accelerations of the tip, and the forces that they take. Ours: how far the lecture's Euler "
        "scheme is off in our simulation.",
        own="arrows",
    ),
    "kubozono": Story(
        "Adaptive control in closed form and by recursion",
        "Adaptive laws are proved in closed form, with M, C and g as matrices, and should run by recursion, whose effort grows "
        "with the number of joints and not with its cube. Kubozono, Yamakita and Furuta write the recursion in spatial vectors, "
        "stack it, and find the closed form that it realises: of Niemeyer and Slotine's law it is Slotine and Li's, of Walker's "
        "another one. The stacks J, J_t, V_s, C₁, C₂ and C₃ are the bridge.",
        "The law by its recursion, for any arm, with estimates of its ten parameters a link: to simulate, or to take away as C.",
        'law = tp.NiemeyerSlotine(tp.load("puma560"))',
        "V of sixteen PUMA arms that begin with different wrong estimates",
        'arm = tp.load("puma560")\n'
        "J, J_t, V_s, inertia, C_1, C_2, C_3 = tp.closed_form.spatial_stacks(arm)([0.1] * 6, [0.2] * 6)\n"
        "H = J_t @ inertia @ J\n"
        "C = J_t @ (inertia @ V_s + (C_1 - C_2 - C_3) @ J / 2)",
        "taupi reproduce kubozono -o out\ntaupi control puma560 --law niemeyer-slotine --reference puma560 --duration 5",
        ("planar: V", "planar: |s|", "PUMA: V", "PUMA: |s|", "PUMA: where V rises"),
        (),
        "[tutorial](../tutorials/kubozono-forms.md), [equations](../concepts/equations.md#kubozono), "
        "[reference runs](../concepts/reference-runs.md), [errata](../concepts/errata.md)",
        "The paper has no simulation. These are [reference runs](../concepts/reference-runs.md) of our own; in the "
        "last picture Walker's adaptation lacks the gamma-term.",
        slow=True,
    ),
    "aldana": Story(
        "A planar arm of three links at its tip",
        "Teleoperation is done in the coordinates of the tip, and adapting there needs dynamics that are linear in "
        "unknown parameters, lengths among them. Aldana, Nuño and Basañez write them out for a planar arm of three links: 25 "
        "parameters and a regressor of 3 x 25, entry by entry. One sign of 75 entries is wrong, one parameter is another's copy, "
        "and 14 of the 25 columns are independent.",
        "The regressor of 25 parameters, what the parameters are, and how many of them can be told apart.",
        "lumped = tp.operational.planar_3r_regressor()",
        "Singular values of the regressor of 25 columns, stacked at random states, and of the lumped one",
        "lumped = tp.operational.planar_3r_regressor()  # 3 x 25, its 25 parameters, and how they are made\n"
        "print(lumped.rank, lumped.expressions[:3])\n"
        "Y = lumped.regressor([0.3, 0.9, -0.4], [0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9])",
        "taupi reproduce aldana -o out\ntaupi emit planar3r operational-planar-3r-regressor -o out/c\n"
        "taupi control planar3r --law operational-slotine-li --task planar --duration 2 "
        "--reference '[[0.3, 0.9, -0.4], [0.6, 1.3, -0.8]]'",
        ("force along y",),
        ("theta",),
        "[tutorial](../tutorials/aldana-3r.md), [equations](../concepts/equations.md#aldana), "
        "[errata](../concepts/errata.md)",
        "The paper has no simulation. This is ours: the force at the tip along a motion, by its regressor as "
        "printed and as corrected.",
    ),
    "zollo2014": Story(
        "Robots with elastic joints, identified",
        "Behind a gear that gives way, motor and link move apart, and what is identified of a rigid robot is not all there is. "
        "Zollo, Lopez, Spedaliere, Garcia Aracil and Guglielmelli extend the regressor to 2n rows, 14n columns: links, rotors, "
        "springs and friction. They identify an arm of two joints and a PUMA 560 in simulation, encoders and noise included.",
        "The regressor of links, rotors, springs and friction of any arm with elastic joints: 12 x 84 of the PUMA.",
        'Y = tp.elastic_regressor(tp.load("puma560_elastic"))',
        "Errors of 62 base parameters of an elastic PUMA beside the half widths of their intervals",
        'arm = tp.load("zollo2r")\n'
        "Y = tp.elastic_regressor(arm)\n"
        "parts = tp.elastic.regressor_parts(arm)  # Y_B, Y_C, Y_oth\n"
        'base = tp.base_parameters(arm, terms=("coulomb", "viscous"), elastic=True)\n'
        "print(base)  # 14 of 28, and what they are made of",
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
        ("planar_readings", "planar_noise", "table_3", "table_4", "table_5", "table_6"),
        "[tutorial](../tutorials/zollo-elastic.md), [equations](../concepts/equations.md#zollo), "
        "[reference runs](../concepts/reference-runs.md), [errata](../concepts/errata.md)",
        "Redrawn, on motions of our own, since the paper's are not printed: torques, positions, and links beside "
        "motors. Ours: the line that is seen of the friction, and Table 2 as a picture.",
        lead=True,
        slow=True,
    ),
}
