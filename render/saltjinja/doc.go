// Package saltjinja is the renderer jinja: package jinja with what Salt adds to it.
//
// These are the variables of templates (salt, grains, pillar, opts, saltenv, sls, tpldir, …), a loader of files in the
// file roots, the tags import_yaml, load_yaml and their like, filters, tests and globals, and errors with Salt's text
// (salt/utils/jinja.py, salt/utils/templates.py, salt/renderers/jinja.py).
package saltjinja
