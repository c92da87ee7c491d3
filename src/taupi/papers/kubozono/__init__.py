"""Kubozono, Yamakita & Furuta: adaptive control in closed form and by recursion."""
