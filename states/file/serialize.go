package file

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/serializers"
	"github.com/brineproject/brine/state/change"
)

type serializeArgs struct {
	Name             string
	Dataset          any       `default:"None"`
	DatasetPillar    any       `default:"None"`
	User             any       `default:"None"`
	Group            any       `default:"None"`
	Mode             any       `default:"None"`
	Backup           any       `default:"''"`
	Makedirs         bool      `default:"False"`
	ShowChanges      bool      `default:"True"`
	Create           bool      `default:"True"`
	MergeIfExists    bool      `default:"False"`
	Encoding         any       `default:"None"`
	EncodingErrors   any       `default:"'strict'"`
	Serializer       any       `default:"None"`
	SerializerOpts   any       `default:"None"`
	DeserializerOpts any       `default:"None"`
	Kwargs           *data.Map `kwargs:"kwargs"`
}

// serialize writes data to a file in a serialization format.
//
// dataset, dataset_pillar
//
//	The data, or its key in pillar.
//
// serializer, serializer_opts
//
//	The format, by default yaml (formatter is a synonym), and a list of its options.
//
// merge_if_exists, deserializer_opts
//
//	Merge the data into the existing data of the file, which is read with these options.
//
// Further arguments are those of file.managed.
//
//	/etc/dummy/package.json:
//	  file.serialize:
//	    - dataset:
//	        name: naive
//	    - serializer: json
func (m contents) serialize(ctx context.Context, a serializeArgs) (any, error) {
	ret, err := m.serializeTo(ctx, a)
	if err != nil {
		return nil, err
	}
	return ordered(ret, "changes", "comment", "name", "result"), nil
}

func (m contents) serializeTo(ctx context.Context, a serializeArgs) (*data.Map, error) {
	a.Name = home(a.Name)
	a.Kwargs = a.Kwargs.Clone()
	format := a.format()
	if complaint := a.complaint(); complaint != "" {
		return change.Failed(a.Name, complaint), nil
	}
	if !a.Create && !paths.IsFile(a.Name) {
		return change.Unchanged(a.Name, "File "+a.Name+
			" is not present and is not set for creation"), nil
	}
	if data.Truth(a.DatasetPillar) {
		v, err := calls.PillarGet[any](ctx, m.env, a.DatasetPillar)
		if err != nil {
			return nil, err
		}
		a.Dataset = v
	}
	if a.Dataset == nil {
		return change.Failed(a.Name, "Neither 'dataset' nor 'dataset_pillar' was defined"), nil
	}
	old, ret := m.existing(ctx, &a, format)
	if ret != nil {
		return ret, nil
	}
	if old != nil {
		merged := data.Clone(old)
		if into, ok := merged.(*data.Map); ok {
			if from, ok := a.Dataset.(*data.Map); ok {
				data.Merge(into, from, false)
			}
		}
		if data.Equal(old, merged) {
			return change.Unchanged(a.Name, "The file "+a.Name+" is in the correct state"), nil
		}
		a.Dataset = merged
	}
	text, err := serializers.Serialize(ctx, m.env, format, a.Dataset, a.options(format))
	switch {
	case errors.Is(err, serializers.ErrMissing):
		return change.Failed(a.Name, "The "+format+
			" serializer could not be found. It either does not exist or its prerequisites are not installed."), nil
	case err != nil:
		return nil, err
	}
	if s, ok := any(text).(string); ok {
		return m.serialized(ctx, a, s+"\n", old)
	}
	return m.serialized(ctx, a, text, old)
}

func (a *serializeArgs) format() string {
	format := a.Serializer
	if !data.Truth(format) {
		format = a.Kwargs.Value("formatter")
	}
	if !data.Truth(format) {
		format = "yaml"
	}
	return strings.ToLower(data.Str(format))
}

func (a *serializeArgs) complaint() string {
	switch {
	case a.Name == "":
		return "Must provide name to file.serialize"
	case data.Truth(a.Serializer) && data.Truth(a.Kwargs.Value("formatter")):
		return "Only one of serializer and formatter are allowed"
	case data.Truth(a.Dataset) && data.Truth(a.DatasetPillar):
		return "Only one of 'dataset' and 'dataset_pillar' is permitted"
	}
	return ""
}

// existing returns the data in the file, for merge_if_exists, or the result of the state if it
// cannot be read.
func (m contents) existing(
	ctx context.Context, a *serializeArgs, format string,
) (any, *data.Map) {
	if !a.MergeIfExists || !paths.IsFile(a.Name) {
		return nil, nil
	}
	body, err := os.ReadFile(a.Name)
	if err != nil {
		return nil, change.Failed(a.Name, "Failed to deserialize existing data: "+err.Error())
	}
	v, err := serializers.Deserialize(ctx, m.env, format, string(body), repacked(a.DeserializerOpts))
	switch {
	case errors.Is(err, serializers.ErrMissing):
		return nil, change.Failed(a.Name, "merge_if_exists is not supported for the "+format+
			" serializer")
	case err != nil:
		return nil, change.Failed(a.Name, "Failed to deserialize existing data: "+err.Error())
	}
	return v, nil
}

// options returns the options of a format: the state's defaults, overridden by the given ones.
func (a *serializeArgs) options(format string) *data.Map {
	opts := data.NewMap()
	switch format {
	case "yaml":
		opts = data.NewMap("default_flow_style", false)
		if data.Truth(a.Encoding) {
			opts.Set("allow_unicode", true)
		}
	case "json":
		opts = data.NewMap("indent", int64(2), "separators", data.Tuple{",", ": "},
			"sort_keys", true)
		if data.Truth(a.Encoding) {
			opts.Set("ensure_ascii", false)
		}
	}
	opts.Update(repacked(a.SerializerOpts))
	return opts
}

// repacked merges a list of dictionaries into one.
func repacked(v any) *data.Map {
	if m, ok := v.(*data.Map); ok {
		return m
	}
	all := data.NewMap()
	list, _ := v.([]any)
	for _, item := range list {
		if m, ok := item.(*data.Map); ok {
			all.Update(m)
		}
	}
	return all
}

// serialized writes the file.
func (m contents) serialized(
	ctx context.Context, a serializeArgs, contents, old any,
) (*data.Map, error) {
	mode, saltenv := normalMode(a.Mode), change.CallOf(ctx).SaltEnv
	if change.Test(ctx) {
		changes, err := loader.CallAs[*data.Map](ctx, m.env, "file.check_managed_changes", []any{
			a.Name, nil, data.NewMap(), nil, a.User, a.Group, mode, nil, nil, nil, nil,
			saltenv, contents,
		}, nil)
		switch {
		case err != nil:
			return nil, err
		case changes.Len() == 0:
			return change.Unchanged(a.Name, "The file "+a.Name+" is in the correct state"), nil
		case !a.ShowChanges:
			changes.Set("diff", "<show_changes=False>")
		}
		a.reportMerge(old, changes)
		return change.Would(a.Name, changes,
			"Dataset will be serialized and stored into "+a.Name), nil
	}
	start := change.Unchanged(a.Name, "")
	if data.Truth(a.DeserializerOpts) && !a.MergeIfExists {
		start.Set("warnings", []any{"The 'deserializer_opts' option is ignored unless merge_if_exists is set to True."})
	}
	ret, err := loader.CallAs[*data.Map](ctx, m.env, "file.manage_file",
		[]any{a.Name, "", start, nil, data.NewMap(), a.User, a.Group, mode, nil, saltenv, a.Backup},
		data.NewMap("makedirs", a.Makedirs, "show_changes", a.ShowChanges, "encoding", a.Encoding,
			"encoding_errors", a.EncodingErrors, "contents", contents))
	if err != nil {
		return nil, err
	}
	if changes, ok := ret.Value("changes").(*data.Map); ok {
		a.reportMerge(old, changes)
	}
	return ret, nil
}

// reportMerge reports the differences of merged data instead of a diff of lines.
func (a *serializeArgs) reportMerge(old any, changes *data.Map) {
	before, one := old.(*data.Map)
	after, two := a.Dataset.(*data.Map)
	if one && two && a.ShowChanges {
		changes.Set("diff", differences(before, after))
	}
}

// differences returns the differences of two dictionaries by key: old and new
// (salt/utils/dictdiffer.py, recursive_diff).
func differences(before, after *data.Map) *data.Map {
	diffs := data.NewMap()
	for key, now := range after.All() {
		was, there := before.Get(key)
		from, one := was.(*data.Map)
		to, two := now.(*data.Map)
		switch {
		case !there:
			diffs.Set(key, data.NewMap("new", now, "old", "<_null_>"))
		case data.Equal(was, now):
		case one && two:
			diffs.Set(key, differences(from, to))
		default:
			diffs.Set(key, data.NewMap("new", now, "old", was))
		}
	}
	return diffs
}
