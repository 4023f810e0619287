"""The functions of Brine's execution modules as modules: salt.modules.cmdmod is cmd.*."""
