// Package render turns the files that users write, and what they say in pipes such as #!jinja|yaml, into data.
//
// An Engine holds renderers by name and what they work with: options, grains, pillar, functions and files. Render runs a
// source through the pipe of its first line, or the default one; Template renders one file template to text.
//
//	e, err := render.New(render.Options{Env: env, Files: files, Renderers: all.Renderers()})
//	high, err := e.Render(ctx, render.Input{Text: text, Path: path, SaltEnv: "base", SLS: "web.nginx"})
//
// A Renderer is a value in a list, as plug-ins are elsewhere; package render/standard lists them, and Options.Lookup finds those
// that are known only by name at run time. What Salt adds to Jinja is in render/saltjinja.
//
// An Engine is made for one minion and is cheap; renderers may be shared by many, and then share their parsed templates.
//
// The rules are those of salt/template.py (compile_template, template_shebang, check_render_pipe_str) and of
// salt/renderers; errors have Salt's text, with the line and five lines either side, see Error. What differs: a renderer
// that does not exist, or that runs Python, is an error that says so, where Salt logs it and renders nothing.
package render
