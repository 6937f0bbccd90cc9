"""Photographs of one moment: pairs of corel1k that differ by seconds, and that no copying made."""

BURSTS = (
    *((503, 567), (516, 551), (521, 544), (521, 564), (525, 537), (540, 556), (542, 560), (544, 564)),
    *((584, 593), (586, 592), (589, 595)),
    *((716, 726), (718, 795), (724, 787), (727, 748), (727, 797), (730, 736), (734, 739), (748, 797), (749, 766)),
    *((760, 768), (760, 789), (761, 776), (763, 770), (763, 791), (768, 789), (769, 786), (770, 791), (774, 796)),
    *((918, 924), (935, 981)),
)
"""Numbers of the files: what looks like the same things in nearly the same place, seen in contact sheets of the 40
nearest pairs of all photographs by each of the fingerprint in eight orientations, color, gist and sift, of the 48
nearest by gist and sift together, and of those with most key points in common. 935 and 981 are one dish from two sides.
Drawn dinosaurs look alike, but are different."""
