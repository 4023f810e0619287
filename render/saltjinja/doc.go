// Package saltjinja is the renderer jinja: package jinja with what Salt adds to it.
//
// These are the variables of templates (salt, grains, pillar, opts, saltenv, sls, tpldir, …), a loader of files in the
// file roots, the tags import_yaml, load_yaml and their like, filters, tests and globals, and errors with Salt's text
// (salt/utils/jinja.py, salt/utils/templates.py, salt/renderers/jinja.py).
//
// What differs from Salt: an undefined value given to a function, unless it is a default, and to a filter that writes data,
// unless it is yaml, is an error that names it; Salt's functions and writers each fail in their own words, and those of match
// answer False. What a template changes in opts, grains or pillar ends with it; in Salt the templates that come later see it. A list that
// stands in two places of what grains.filter_by is given becomes two lists. The way to an error is told through templates, not
// through Python's files.
package saltjinja
