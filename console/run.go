package console

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/netapi"
)

// A runForm is the page on which a function is chosen and sent to minions.
type runForm struct {
	target
	Fun   string
	Kinds []targetKind
	Fault string
	Ready bool // a function is chosen, so that its arguments can be given

	Preview *preview
	functionHelp
	Lines string // arguments, one a line

	TestKnown, Test bool
	Timeout, Batch  string
	Queue           bool
	QueueFor        string
	Lacks           string // why jobs are not queued and run in batches

	values map[string]string // of the named arguments
}

// The names of fields of arguments begin with one of these.
const (
	valuePrefix   = "p."
	defaultPrefix = "d."
)

// runPage shows the form.
func runPage(q *request) error {
	query := q.r.URL.Query()
	if jid := query.Get("again"); jid != "" {
		return runAgain(q, jid)
	}
	return readRun(query).show(q, http.StatusOK)
}

// runAgain shows the form as it was for an earlier job.
func runAgain(q *request, jid string) error {
	r, err := q.jobs.results(jid, nil)
	if errors.Is(err, errNoJob) {
		return noJob(jid)
	}
	if err != nil {
		return err
	}
	args := r.arguments
	if knowsTest(r.Fun) && r.Test {
		args = withoutTest(args)
	}
	at, err := writable(r.sent, r.Kind)
	f := readRun(url.Values{"tgt": {at.Text}, "tgt_type": {at.Kind}, "fun": {r.Fun},
		"args": {strings.Join(argumentLines(args), "\n")}, "batch": {r.Batch}})
	f.Test = f.TestKnown && r.Test
	if err != nil {
		f.Fault = netapi.FaultOf(err).Text
	}
	return f.show(q, http.StatusOK)
}

// startJob sends the job and shows it. A job that cannot be sent leads back to the form. With show, only
// the form is shown: arguments, which can be secret, stay out of the address.
func startJob(q *request) error {
	f := readRun(q.r.PostForm)
	if q.r.PostForm.Get("show") != "" {
		return f.show(q, http.StatusOK)
	}
	low, err := f.order(q.r.PostForm)
	var sent *data.Map
	total := 0
	if err == nil && (f.Batch != "" || f.Queue) {
		total = q.minions.matches(f.target).Total
		if q.ask.lacks(fleetRunner) {
			err = badRequest(noBrine + " Nothing was sent.")
		}
	}
	if err == nil {
		if f.Batch != "" {
			low.Set("metadata", data.NewMap(batchKey, f.Batch, manyKey, int64(total)))
		}
		sent, err = q.ask.sendJob(low)
	}
	if err != nil {
		fault := netapi.FaultOf(err)
		if fault.Status >= http.StatusInternalServerError && fault.Status != http.StatusServiceUnavailable {
			return err
		}
		f.Fault = fault.Text
		switch {
		case errors.Is(err, client.ErrNoBatches):
			f.Fault = noBrine + " Nothing was sent."
		case refused(err):
			f.Fault = "You have no right to run " + f.Fun + " with these arguments on this target. The page Rights lists what you may run."
		}
		return f.show(q, fault.Status)
	}
	if f.Queue && !sent.Has("queued") {
		q.notify("The job was sent only to minions that are connected. " + noBrine)
	}
	return q.redirect(jobPath(sent.Text("jid")))
}

// noBrine says what a master of Salt cannot do.
const noBrine = "This master is Salt's. It keeps no jobs for absent minions, and runs no batches by itself."

// readRun reads the form. Arguments that were given for another function are left out.
func readRun(from url.Values) *runForm {
	f := &runForm{target: target{strings.TrimSpace(from.Get("tgt")), from.Get("tgt_type")}, Fun: strings.TrimSpace(from.Get("fun")),
		Kinds: targetKinds(), Timeout: strings.TrimSpace(from.Get("timeout")), Batch: strings.TrimSpace(from.Get("batch")),
		Queue: from.Get("queue") != "", QueueFor: strings.TrimSpace(from.Get("queue_for")), values: map[string]string{}}
	if f.Kind == "" {
		f.Kind = "glob"
	}
	f.Ready = f.Fun != ""
	f.TestKnown = knowsTest(f.Fun)
	f.Test = f.TestKnown
	shown := from.Get("shown")
	if shown != "" && shown != f.Fun {
		return f
	}
	f.Lines = from.Get("args")
	if shown != "" {
		f.Test = f.TestKnown && from.Get("test") != ""
	}
	for name := range from {
		if name, ok := strings.CutPrefix(name, valuePrefix); ok {
			f.values[name] = from.Get(valuePrefix + name)
		}
	}
	return f
}

// knowsTest reports whether a function only says what it would do if it is called with test=True.
func knowsTest(fun string) bool {
	return slices.Contains([]string{"state.apply", "state.highstate", "state.sls", "state.sls_id", "state.single", "state.high",
		"state.low", "state.top", "state.template", "state.template_str"}, fun)
}

// order returns the order of a form.
func (f *runForm) order(from url.Values) (*data.Map, error) {
	if f.Text == "" || f.Fun == "" {
		return nil, &netapi.Fault{Status: http.StatusBadRequest, Text: "A job needs a target and a function."}
	}
	args, named, err := f.arguments(from)
	if err != nil {
		return nil, err
	}
	if f.Test {
		named.Set("test", true)
	}
	low := data.NewMap("tgt", f.value(), "tgt_type", f.Kind, "fun", f.Fun)
	low.Set("arg", loader.ConditionInput(args, nil))
	if named.Len() > 0 {
		low.Set("kwarg", named)
	}
	if f.Timeout != "" {
		low.Set("timeout", f.Timeout)
	}
	if f.Batch != "" {
		low.Set("batch", f.Batch)
	}
	if f.Queue {
		low.Set("queue", true)
		if f.QueueFor != "" {
			low.Set("queue", f.QueueFor)
		}
	}
	return low, nil
}

// arguments returns the arguments of a form. Those with fields are given by name, unless further ones
// by position stand behind them.
func (f *runForm) arguments(from url.Values) (args []any, named *data.Map, err error) {
	args, named = readArguments(f.Lines)
	order := from["param"]
	if len(args) > 0 && len(order) > 0 {
		var before []any
		for _, name := range order {
			text := f.values[name]
			if text == "" && !from.Has(defaultPrefix+name) {
				return nil, nil, &netapi.Fault{Status: http.StatusBadRequest, Text: "The argument " + name + " is missing."}
			}
			if text == "" {
				text = from.Get(defaultPrefix + name)
			}
			before = append(before, loader.YAMLArg(text))
		}
		return append(before, args...), named, nil
	}
	for _, name := range slices.Sorted(maps.Keys(f.values)) {
		if text := f.values[name]; text != "" {
			named.Set(name, loader.YAMLArg(text))
		}
	}
	return args, named, nil
}

// show shows the form with what the master and one minion know of its target and function.
func (f *runForm) show(q *request, status int) error {
	asked := f.target
	if asked.Text == "" {
		asked = target{"*", "glob"}
	}
	p := q.minions.preview(asked)
	if f.Text != "" {
		f.Preview = p
	}
	if minion := p.someone(); minion != "" {
		f.functionHelp = askFunction(q.ask, minion, f.Fun)
	} else if f.Ready {
		f.Note = "No connected minion of the target is known, so the documentation and the arguments of " + f.Fun + " cannot be shown."
	}
	if q.ask.lacks(fleetRunner) {
		f.Lacks = noBrine
	}
	f.place()
	title := "Run"
	if f.Fun != "" {
		title = "Run " + f.Fun
	}
	return q.render(status, "run", title, f)
}

// place puts the arguments into the fields of the function: those that were typed there, and those of
// an earlier job, which come as lines.
func (f *runForm) place() {
	if f.Spec == nil {
		var lines []string // what has no field any more
		for _, name := range slices.Sorted(maps.Keys(f.values)) {
			if f.values[name] != "" {
				lines = append(lines, name+"="+f.values[name])
			}
		}
		f.Lines = strings.Join(append(lines, strings.TrimRight(f.Lines, "\r\n")), "\n")
		f.Lines = strings.Trim(f.Lines, "\n")
		return
	}
	var rest []string
	at := 0
	for line := range strings.Lines(f.Lines) {
		line = strings.TrimRight(line, "\r\n")
		name, value, isNamed := loader.ParseKwarg(line)
		i := slices.IndexFunc(f.Spec.Fields, func(field argumentField) bool { return field.Name == name })
		switch {
		case strings.TrimSpace(line) == "":
		case isNamed && i >= 0 && f.values[name] == "":
			f.values[name] = value
		case !isNamed && len(f.values) == 0 && at < len(f.Spec.Fields):
			f.Spec.Fields[at].Value = line
			at++
		default:
			rest = append(rest, line)
		}
	}
	f.Lines = strings.Join(rest, "\n")
	for i := range f.Spec.Fields {
		field := &f.Spec.Fields[i]
		if v := f.values[field.Name]; v != "" {
			field.Value = v
		}
		if f.TestKnown && field.Name == "test" {
			field.Name = "" // it has its own box
		}
	}
	f.Spec.Fields = slices.DeleteFunc(f.Spec.Fields, func(field argumentField) bool { return field.Name == "" })
}
