// Package saltjinja is the renderer jinja: package jinja with Salt's additions.
//
// These are the variables of templates (salt, grains, pillar, opts, saltenv, sls, tpldir, …), a
// loader of files in the file roots, the tags import_yaml, load_yaml and the like, filters, tests
// and globals, and errors with Salt's text (salt/utils/jinja.py, salt/utils/templates.py,
// salt/renderers/jinja.py).
//
// It differs from Salt in several points. An undefined value as an argument of a function, unless
// it is a default, or of a filter that writes data, unless it is yaml, is an error that names the
// value. In Salt, functions and writers each fail with their own message, and those of match return
// False. Changes that a template makes to opts, grains or pillar end with the template; in Salt
// later templates see them. A list that occurs twice in an argument of grains.filter_by becomes two
// lists. The traceback of an error goes through templates, not through Python's files.
package saltjinja
