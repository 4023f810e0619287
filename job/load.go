package job

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/brineproject/brine/data"
)

// ErrLoad is wrapped by ParsePublication and ParseReturn for a load with a missing field or one of
// the wrong type.
var ErrLoad = errors.New("bad load")

// A Publication is the decrypted load of a published job (salt/channel/server.py; salt/master.py,
// publish).
type Publication struct {
	JID        ID
	Fun        []string // function names: exactly one unless Multi is set
	Multi      bool     // Fun is sent as a list, and Arg holds a list for each function
	Arg        []any
	Target     any    // string, or []any of ids
	TargetType string // "glob", "list", ...
	Ret        string // names of returners, joined by commas
	User       string
	MasterID   string
	Delimiter  string // "" means ":"
	Caller     string // field "id": the minion that published the job (peer publishing)
	To         int    // seconds that a syndic waits; with order_masters
	Metadata   any
	RetConfig  any
	RetKwargs  any
	AuthList   any // rights, for syndics
	ExecutorOpts,
	ModuleExecutors any
	Extra *data.Map // all other fields, in order; nil if there are none
}

// Map returns the load in Salt's order, with the fields that are set. It always has the five fields
// that Salt always sends: fun, arg, tgt, jid and ret.
func (p *Publication) Map() *data.Map {
	m := data.NewMap("fun", p.fun(), "arg", list(p.Arg), "tgt", p.Target, "jid", string(p.JID),
		"ret", p.Ret)
	setText(m, "master_id", p.MasterID)
	setText(m, "delimiter", p.Delimiter)
	setText(m, "id", p.Caller)
	setText(m, "tgt_type", p.TargetType)
	if p.To != 0 {
		m.Set("to", int64(p.To))
	}
	set(m, "ret_config", p.RetConfig)
	set(m, "metadata", p.Metadata)
	set(m, "module_executors", p.ModuleExecutors)
	set(m, "executor_opts", p.ExecutorOpts)
	set(m, "ret_kwargs", p.RetKwargs)
	setText(m, "user", p.User)
	set(m, "auth_list", p.AuthList)
	m.Update(p.Extra)
	return m
}

func (p *Publication) fun() any {
	if !p.Multi && len(p.Fun) == 1 {
		return p.Fun[0]
	}
	names := make([]any, len(p.Fun))
	for i, f := range p.Fun {
		names[i] = f
	}
	return names
}

// ParsePublication decodes a load. Unknown fields are stored in Extra; null counts as absent. The
// job id may be any text, as Salt accepts what the sender chooses: a caller that uses it in a path
// must call ParseID. The error wraps ErrLoad.
func ParsePublication(m *data.Map) (*Publication, error) {
	p := &Publication{}
	r := reader{what: "publication"}
	for k, v := range m.All() {
		r.publication(p, k, v)
	}
	r.need(m, "fun", "tgt", "jid")
	if r.err != nil {
		return nil, r.err
	}
	return p, nil
}

func (r *reader) publication(p *Publication, k, v any) {
	switch k {
	case "fun":
		p.Fun, p.Multi = r.funs(v)
	case "arg":
		p.Arg = r.list("arg", v)
	case "tgt":
		p.Target = r.target(v)
	case "jid":
		p.JID = ID(r.text("jid", v))
	case "tgt_type":
		p.TargetType = r.text("tgt_type", v)
	case "ret":
		p.Ret = r.text("ret", v)
	case "user":
		p.User = r.text("user", v)
	case "master_id":
		p.MasterID = r.text("master_id", v)
	case "delimiter":
		p.Delimiter = r.text("delimiter", v)
	case "id":
		p.Caller = r.text("id", v)
	case "to":
		p.To = r.integer("to", v)
	default:
		p.setUntyped(k, v)
	}
}

// setUntyped sets the fields that may hold any value.
func (p *Publication) setUntyped(k, v any) {
	switch k {
	case "metadata":
		p.Metadata = v
	case "ret_config":
		p.RetConfig = v
	case "ret_kwargs":
		p.RetKwargs = v
	case "module_executors":
		p.ModuleExecutors = v
	case "executor_opts":
		p.ExecutorOpts = v
	case "auth_list":
		p.AuthList = v
	default:
		p.Extra = keep(p.Extra, k, v)
	}
}

// A Return is the load of `_return`: the result of a job on a minion (salt/minion.py,
// _thread_return).
type Return struct {
	ID       string // the minion
	JID      ID
	Fun      any    // text, or a list of texts
	FunArgs  any    // nil when absent
	Value    any    // field "return"; data.Raw if it is only forwarded
	Retcode  any    // integer; map or list of them for several functions; nil when absent
	Success  any    // likewise with bools
	Out      string // outputter
	User     string
	MasterID string
	Metadata any
	Extra    *data.Map // all other fields, in order; nil if there are none
}

// NoticesField is the field of a return with messages of the minion for the user who ordered the
// job: a list of texts. Salt's programs ignore it.
const NoticesField = "notices"

// Notify adds notices to the return. Without texts it adds no field.
func (r *Return) Notify(texts []string) {
	if len(texts) == 0 {
		return
	}
	list := make([]any, len(texts))
	for i, t := range texts {
		list[i] = t
	}
	r.Extra = keep(r.Extra, NoticesField, list)
}

// Limits on the notices that are read.
const (
	maxNotices   = 20
	noticeLength = 4096 // characters
)

// Notices returns the notices in a return's load, which the minion chose: at most 20, each of at
// most 4096 characters and without control characters. Values that are not text are skipped.
func Notices(load *data.Map) []string {
	list, _ := load.Value(NoticesField).([]any)
	var out []string
	for _, v := range list {
		text, ok := v.(string)
		if !ok || len(out) == maxNotices {
			continue
		}
		if letters := []rune(text); len(letters) > noticeLength {
			text = string(letters[:noticeLength])
		}
		out = append(out, strings.Map(plain, text))
	}
	return out
}

// plain replaces a control character by a space.
func plain(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return ' '
}

// Map returns the load as a minion sends it, "cmd" first, with the fields that are set.
func (r *Return) Map() *data.Map {
	m := data.NewMap("cmd", "_return", "id", r.ID)
	if _, multi := r.Fun.([]any); !multi {
		set(m, "success", r.Success)
	}
	m.Set("return", r.Value)
	set(m, "retcode", r.Retcode)
	set(m, "success", r.Success)
	m.Set("jid", string(r.JID))
	set(m, "fun", r.Fun)
	set(m, "fun_args", r.FunArgs)
	setText(m, "user", r.User)
	setText(m, "master_id", r.MasterID)
	set(m, "metadata", r.Metadata)
	setText(m, "out", r.Out)
	m.Update(r.Extra)
	return m
}

// ParseReturn decodes a load, which must have id, jid and return, as Salt's master requires. "cmd"
// is ignored. The error wraps ErrLoad.
func ParseReturn(m *data.Map) (*Return, error) {
	ret := &Return{}
	r := reader{what: "return"}
	for k, v := range m.All() {
		r.result(ret, k, v)
	}
	r.need(m, "id", "jid", "return")
	if r.err != nil {
		return nil, r.err
	}
	return ret, nil
}

func (r *reader) result(ret *Return, k, v any) {
	switch k {
	case "cmd":
	case "id":
		ret.ID = r.text("id", v)
	case "jid":
		ret.JID = ID(r.text("jid", v))
	case "return":
		ret.Value = v
	case "fun":
		ret.Fun = v
	case "fun_args":
		ret.FunArgs = v
	case "retcode":
		ret.Retcode = v
	case "success":
		ret.Success = v
	case "out":
		ret.Out = r.text("out", v)
	case "user":
		ret.User = r.text("user", v)
	case "master_id":
		ret.MasterID = r.text("master_id", v)
	case "metadata":
		ret.Metadata = v
	default:
		ret.Extra = keep(ret.Extra, k, v)
	}
}

// A reader decodes fields of a load and keeps the first error.
type reader struct {
	what string
	err  error
}

func (r *reader) fail(field any, why string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: field %v %s: %w", r.what, field, why, ErrLoad)
	}
}

func (r *reader) need(m *data.Map, fields ...string) {
	for _, f := range fields {
		if !m.Has(f) {
			r.fail(f, "is missing")
		}
	}
}

// text returns a text field. Null is "", and a number becomes its digits (YAML parses a job id as
// one).
func (r *reader) text(field string, v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return data.Str(v)
	}
	r.fail(field, "is not text")
	return ""
}

func (r *reader) integer(field string, v any) int {
	switch v := v.(type) {
	case nil:
		return 0
	case int64:
		return int(v)
	case float64:
		return int(v)
	}
	r.fail(field, "is not a number")
	return 0
}

func (r *reader) list(field string, v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	case data.Tuple:
		return v
	}
	r.fail(field, "is not a list")
	return nil
}

func (r *reader) funs(v any) (names []string, multi bool) {
	if s, ok := v.(string); ok {
		return []string{s}, false
	}
	for _, e := range r.list("fun", v) {
		names = append(names, r.text("fun", e))
	}
	return names, true
}

func (r *reader) target(v any) any {
	switch v := v.(type) {
	case string, []any:
		return v
	case data.Tuple:
		return []any(v)
	}
	r.fail("tgt", "is neither text nor a list")
	return nil
}

func keep(m *data.Map, k, v any) *data.Map {
	if m == nil {
		m = &data.Map{}
	}
	m.Set(k, v)
	return m
}

func list(l []any) []any {
	if l == nil {
		return []any{}
	}
	return l
}

func set(m *data.Map, key string, v any) {
	if v != nil {
		m.Set(key, v)
	}
}

func setText(m *data.Map, key, s string) {
	if s != "" {
		m.Set(key, s)
	}
}
