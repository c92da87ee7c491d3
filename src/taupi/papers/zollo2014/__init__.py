"""Zollo, Lopez, Spedaliere, Garcia Aracil & Guglielmelli (2014): identification of robots with elastic joints."""
