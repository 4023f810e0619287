package console

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// A rightsView says what the user may do.
type rightsView struct {
	User, Eauth string
	Groups      []string
	Ends, Left  string // when the session ends, and in which time
	Rights      []rightText
	Needs       []pageNeed
	Ask         mayAsk
	Answer      *mayAnswer
	Kinds       []targetKind
}

// A rightText is one right as a sentence: the user may run functions somewhere.
type rightText struct {
	Lead  string // such as: may run
	Funs  []funText
	Where string // text behind the functions
	On    string // a target; "" is none
}

// A funText is a function, with the conditions on its arguments.
type funText struct{ Name, If string }

// A pageNeed is what a page of the console cannot show or do without a right.
type pageNeed struct {
	Page, What string
	Kind, Fun  string
	Has        bool
}

// rights shows the rights of the user.
func rights(q *request) error {
	t := q.session.Token
	list := q.Gate.Rights(t)
	who := auth.FromRights(t.User, list)
	v := &rightsView{User: t.User, Eauth: t.Eauth, Groups: t.Groups, Needs: pageNeeds(q.ask, who),
		Kinds: fleetKinds(), Ends: t.Expire.UTC().Format("2006-01-02 15:04:05 UTC"),
		Left: timeSpan(max(0, t.Expire.Sub(q.Now()).Round(time.Second)))}
	for _, right := range list {
		v.Rights = append(v.Rights, rightsOf(right)...)
	}
	query := q.r.URL.Query()
	v.Ask = mayAsk{Client: query.Get("client"), Fun: strings.TrimSpace(query.Get("fun")), fleetFilter: readFleet(query)}
	if v.Ask.Fun != "" {
		var err error
		if v.Answer, err = v.Ask.answer(q.minions, who, list); err != nil {
			return err
		}
	}
	return q.render(http.StatusOK, "rights", "Rights", v)
}

// rightsOf returns the sentences for one entry of external_auth.
func rightsOf(right any) []rightText {
	m, ok := right.(*data.Map)
	if !ok {
		return []rightText{rightOf(data.Str(right))}
	}
	var all []rightText
	for k, v := range m.All() {
		name := data.Str(k)
		r := rightText{Lead: "may run", On: name, Where: "on minions that the target matches:"}
		if form, isForm := strings.CutPrefix(name, "@"); isForm {
			r = rightText{Lead: "may run", Where: "of the runner or wheel module " + form}
			switch strings.TrimSuffix(form, "s") {
			case auth.Runner:
				r.Where = "among the runners"
			case auth.Wheel:
				r.Where = "among the wheel functions"
			}
		}
		for _, call := range data.ListOf(v) {
			r.Funs = append(r.Funs, funOf(call)...)
		}
		all = append(all, r)
	}
	return all
}

// rightOf returns the sentence for a right without conditions.
func rightOf(text string) rightText {
	form, isForm := strings.CutPrefix(text, "@")
	switch {
	case isForm && strings.TrimSuffix(form, "s") == auth.Runner:
		return rightText{Lead: "may run all runners"}
	case isForm && strings.TrimSuffix(form, "s") == auth.Wheel:
		return rightText{Lead: "may call all wheel functions"}
	case isForm:
		return rightText{Lead: "may run all functions of the runner or wheel module " + form}
	case text == ".*" || text == "*":
		return rightText{Lead: "may run all functions on all minions"}
	}
	return rightText{Lead: "may run", Funs: []funText{{Name: text}}, Where: "on all minions"}
}

// funOf returns a function of a right with its conditions.
func funOf(call any) []funText {
	m, ok := call.(*data.Map)
	if !ok {
		return []funText{{Name: data.Str(call)}}
	}
	var all []funText
	for name, conditions := range m.All() {
		var ways []string
		for _, c := range data.ListOf(conditions) {
			if way := wayOf(c); way != "" {
				ways = append(ways, way)
			}
		}
		f := funText{Name: data.Str(name), If: "with certain arguments"}
		if len(ways) > 0 {
			f.If = "with " + strings.Join(ways, ", or with ")
		}
		all = append(all, f)
	}
	return all
}

// wayOf returns one condition on the arguments of a function.
func wayOf(condition any) string {
	c, _ := condition.(*data.Map)
	var parts []string
	for _, arg := range data.ListOf(c.Value("args")) {
		if arg == nil {
			arg = "any value"
		}
		parts = append(parts, data.Str(arg))
	}
	words, _ := c.Value("kwargs").(*data.Map)
	for k, v := range words.All() {
		parts = append(parts, data.Str(k)+"="+data.Str(v))
	}
	return strings.Join(parts, " ")
}

// pageNeeds returns the rights that pages need, and whether the user has them. What a master of Salt does
// not have is left out, as far as that is known; what it has instead is there.
func pageNeeds(ask *asker, who *auth.Identity) []pageNeed {
	needs := []pageNeed{
		{Page: "Minions", What: "the list of minions", Kind: auth.Runner, Fun: "manage.fleet"},
		{Page: "Minions", What: "grains of a minion", Kind: auth.Runner, Fun: "cache.grains"},
		{Page: "Minions", What: "pillar of a minion", Kind: auth.Wheel, Fun: "minions.pillar"},
		{Page: "Keys", What: "the list of keys", Kind: auth.Wheel, Fun: "key.list_all"},
		{Page: "Keys", What: "fingerprints", Kind: auth.Wheel, Fun: "key.finger"},
		{Page: "Keys", What: "accept keys", Kind: auth.Wheel, Fun: "key.accept_dict"},
		{Page: "Keys", What: "reject keys", Kind: auth.Wheel, Fun: "key.reject_dict"},
		{Page: "Keys", What: "delete keys", Kind: auth.Wheel, Fun: "key.delete_dict"},
		{Page: "Jobs", What: "the list of jobs", Kind: auth.Runner, Fun: "jobs.list_jobs"},
		{Page: "Jobs", What: "a job and its returns", Kind: auth.Runner, Fun: "jobs.list_job"},
		{Page: "Jobs", What: "jobs that still run", Kind: auth.Runner, Fun: "jobs.active"},
		{Page: "Orchestrations", What: "start an orchestration", Kind: auth.Runner, Fun: "state.orchestrate"},
		{Page: "Queue", What: "jobs for absent minions", Kind: auth.Runner, Fun: "queue.list"},
		{Page: "Queue", What: "cancel such a job", Kind: auth.Runner, Fun: "queue.cancel"},
	}
	if ask.lacks(fleetRunner) {
		needs = append([]pageNeed{{Page: "Minions", What: "who is connected", Kind: auth.Runner, Fun: "manage.present"},
			{Page: "Minions", What: "pillar of a minion", Kind: auth.Runner, Fun: "cache.pillar"}}, needs...)
		needs = slices.DeleteFunc(needs, func(n pageNeed) bool {
			return slices.Contains([]string{fleetRunner, "minions.pillar", "queue.list", "queue.cancel"}, n.Fun)
		})
	}
	for i := range needs {
		needs[i].Has = who.MayRun(needs[i].Kind, needs[i].Fun, nil, nil) == nil
	}
	return needs
}

// A mayAsk asks whether the user may run a function.
type mayAsk struct {
	Client string // "" for minions, runner, wheel
	Fun    string
	fleetFilter
}

// A mayAnswer is yes, no, or that it cannot be said.
type mayAnswer struct{ Word, Class, Why string }

func yes(why string) *mayAnswer    { return &mayAnswer{"Yes", "good", why} }
func no(why string) *mayAnswer     { return &mayAnswer{"No", "bad", why} }
func unsure(why string) *mayAnswer { return &mayAnswer{"It depends", "change", why} }

// answer says whether rights allow a function, as far as that can be said without its arguments.
func (m mayAsk) answer(ms minions, who *auth.Identity, list []any) (*mayAnswer, error) {
	relaxed := auth.FromRights(who.Name, withoutConditions(list))
	switch m.Client {
	case auth.Runner, auth.Wheel:
		switch {
		case who.MayRun(m.Client, m.Fun, nil, nil) == nil:
			return yes("These rights allow it."), nil
		case relaxed.MayRun(m.Client, m.Fun, nil, nil) == nil:
			return unsure("It is allowed with certain arguments only."), nil
		}
		return no("None of these rights names it."), nil
	}
	everywhere, targets := who.Places(m.Fun, nil)
	_, maybe := relaxed.Places(m.Fun, nil)
	switch {
	case everywhere:
		return yes("These rights allow it on all minions."), nil
	case len(maybe) == 0:
		return no("None of these rights names it."), nil
	case m.Text == "":
		return no("It is not allowed on all minions, but where minions match " + strings.Join(maybe, ", or ") + "."), nil
	}
	in, known, err := m.within(ms, targets)
	switch {
	case err != nil:
		return nil, err
	case in:
		return yes("All minions of this target are in a target of these rights."), nil
	}
	inMaybe := false
	if len(maybe) > len(targets) {
		if inMaybe, known, err = m.within(ms, maybe); err != nil {
			return nil, err
		}
	}
	switch {
	case inMaybe:
		return unsure("It is allowed there with certain arguments only."), nil
	case known:
		return no("Not all minions of this target, or none, match " + strings.Join(maybe, ", or ") + "."), nil
	}
	return unsure("It is allowed where minions match " + strings.Join(maybe, ", or ") +
		". Which minions these are cannot be looked up: you lack the right @runner to manage.fleet, or the master is not Brine's."), nil
}

// within reports whether one of the targets matches all minions of a filter, and there are some. known is
// false if that cannot be found out.
func (f fleetFilter) within(ms minions, targets []string) (in, known bool, err error) {
	if f.Kind == "" && slices.Contains(targets, f.Text) {
		return true, true, nil // the same words
	}
	f.State = ""
	asked, err := f.exact()
	if err != nil {
		return false, false, err
	}
	total, known, err := ms.count(asked)
	if total == 0 || err != nil {
		return false, known, err
	}
	for _, t := range targets {
		outside, known, err := ms.count("( " + asked + " ) and not ( " + t + " )")
		if err != nil || !known {
			return false, known, err
		}
		if outside == 0 {
			return true, true, nil
		}
	}
	return false, true, nil
}

// exact returns a filter as a compound target. A text without a kind is a glob here, as in orders.
func (f fleetFilter) exact() (string, error) {
	engine := map[string]string{"": "", "grain": "G@", "grain_pcre": "P@", "pcre": "E@", "list": "L@", "nodegroup": "N@", "ipcidr": "S@"}
	if _, err := f.ask(""); err != nil {
		return "", err
	}
	if f.Kind == "compound" {
		return f.Text, nil
	}
	if strings.ContainsAny(f.Text, " \t\n()") {
		return "", &netapi.Fault{Status: http.StatusBadRequest, Text: "A target with spaces or brackets must be compound here."}
	}
	return engine[f.Kind] + f.Text, nil
}

// withoutConditions returns rights without the conditions on arguments.
func withoutConditions(list []any) []any {
	var all []any
	for _, right := range list {
		m, ok := right.(*data.Map)
		if !ok {
			all = append(all, right)
			continue
		}
		for name, calls := range m.All() {
			var names []any
			for _, call := range data.ListOf(calls) {
				for _, f := range funOf(call) {
					names = append(names, f.Name)
				}
			}
			all = append(all, data.NewMap(name, names))
		}
	}
	return all
}
