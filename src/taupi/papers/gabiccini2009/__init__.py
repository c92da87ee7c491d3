"""Gabiccini, Bracci, De Carli, Fredianelli & Bicchi (2009): explicit classical and Slotine-Li regressors."""
