// Package yaml reads and writes YAML 1.1 as Salt does, that is, as PyYAML on libyaml does with Salt's own resolver.
//
// Load gives the dynamic values of package data: mappings keep their order, a repeated key is an error, dates stay
// text, 0644 is the number 644, yes is true and y is text. Dump writes the forms of PyYAML's safe_dump, with its quoting,
// its choice of flow and block style and its folding.
//
//	v, err := yaml.Load(src, yaml.Options{})
//	out, err := yaml.Dump(v, yaml.DumpOptions{Flow: yaml.Block, SortKeys: true})
//
// Scanning and parsing to nodes is the work of go.yaml.in/yaml/v4; composing, merging, tags, the resolver and the
// emitter are this package's. The sources of the behaviour are salt/utils/yamlloader.py (SaltYamlSafeLoader),
// salt/utils/yamldumper.py and PyYAML's resolver.py, constructor.py, representer.py and emitter.py.
//
// What is odd: an alias gives the same *data.Map or []any again, so a change of one shows in the other. A set becomes a
// list, !!omap and !!pairs lists of tuples. Documents that grow without bound through aliases and merges, nest too
// deep or hold themselves are refused, before much is allocated; see Options. Positions tells where a key
// stands, for messages about a value that was read well but cannot be used.
//
// Keys within braces that stand further left than the block around them cost the parser another look at the source; where texts
// look like such braces, and hundreds of them follow, the source is refused in the end.
//
// The parser reads a little more than libyaml does: a document of nothing but "...", the lines of a block scalar at the
// top that are not indented, and white lines that hold a tab. It finds some faults in another order, so of
// several in a document another one may be told.
package yaml
