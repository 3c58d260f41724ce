"""Where the component starts: the class `Plugin` of the project's module."""

import nacre
from plugin import Plugin

Step = nacre.export(Plugin)
