// Package render converts the files that users write to data, through pipes such as #!jinja|yaml.
//
// An Engine holds renderers by name and the data that they use: options, grains, pillar, functions
// and files. Render runs a source through the pipe of its first line, or the default one; Template
// renders one file template to text.
//
//	e, err := render.New(render.Options{Env: env, Files: files, Renderers: all.Renderers()})
//	high, err := e.Render(ctx, render.Input{Text: text, Path: path, SaltEnv: "base", SLS: "web.nginx"})
//
// A Renderer is a value in a list, like other plug-ins. Package render/standard lists them, and
// Options.Lookup finds those that are only known by name at run time. The users' own are in the
// registry renderers of the environment. Salt's additions to Jinja are in render/saltjinja.
//
// An Engine is made for one minion and is cheap. Renderers may be shared by many engines, which
// then share their parsed templates.
//
// The rules are those of salt/template.py (compile_template, template_shebang,
// check_render_pipe_str) and of salt/renderers. Errors have Salt's text, with the line and five
// lines on either side, see Error. It differs from Salt in one point: a renderer that does not
// exist is an error that says so, where Salt logs it and renders nothing.
package render
