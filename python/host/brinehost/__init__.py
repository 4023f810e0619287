"""The program that runs Python plug-ins for Brine.

Brine starts it with python3 -I and the directory of these files. It speaks over one socket:
see wire.py for the messages, main.py for how jobs get processes of their own, and loader.py for
what a plug-in file finds around it. It needs Python 3.8 and nothing else.
"""
