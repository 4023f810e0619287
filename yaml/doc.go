// Package yaml reads and writes YAML 1.1 as Salt does, that is, as PyYAML on libyaml does with
// Salt's own resolver.
//
// Load returns the dynamic values of package data: mappings keep their order, a repeated key is an
// error, dates stay text, 0644 is the number 644, yes is true and y is text. Dump writes like
// PyYAML's safe_dump, with its quoting, its choice of flow and block style and its folding.
//
//	v, err := yaml.Load(src, yaml.Options{})
//	out, err := yaml.Dump(v, yaml.DumpOptions{Flow: yaml.Block, SortKeys: true})
//
// Scanning and parsing to nodes is done by go.yaml.in/yaml/v4; composing, merging, tags, the
// resolver and the emitter are part of this package. The behaviour follows salt/utils/yamlloader.py
// (SaltYamlSafeLoader), salt/utils/yamldumper.py and PyYAML's resolver.py, constructor.py,
// representer.py and emitter.py.
//
// Some behaviour is special. An alias returns the same *data.Map or []any again, so a change of one
// shows in the other. A set becomes a list, and !!omap and !!pairs become lists of tuples.
// Documents that grow without limit through aliases and merges, nest too deep or contain themselves
// are rejected before much memory is allocated; see Options. Positions returns the position of a
// key, for messages about a value that was read but cannot be used.
//
// Keys in braces that stand further left than the block around them make the parser read the source
// again. If texts look like such braces, and hundreds of them follow, the source is finally
// rejected.
//
// The parser accepts a little more than libyaml: a document of only "...", lines of a top-level
// block scalar that are not indented, and white lines that contain a tab. It finds some errors in
// another order, so of several errors in a document it may report another one.
package yaml
