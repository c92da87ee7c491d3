// Stand-in: see README.md.
#pragma once
#define PLUGINLIB_EXPORT_CLASS(Class, Base) \
  extern "C" Base * make_plugin() { return new Class(); }
