package state

import (
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
)

// exclude removes the IDs and SLS listed in __exclude__ from high data (salt/state.py,
// apply_exclude).
func exclude(high *data.Map) {
	list, _ := high.Value("__exclude__").([]any)
	if !high.Delete("__exclude__") {
		return
	}
	ids, globs := excluded(list)
	for id, v := range high.All() {
		body, _ := v.(*data.Map)
		sls := body.Text("__sls__")
		if internal(id) || sls == "" {
			continue
		}
		for _, glob := range globs {
			if glob.Match(sls) {
				ids = append(ids, id)
			}
		}
	}
	for _, id := range ids {
		high.Delete(id)
	}
}

// excluded returns the IDs and the globs of SLS in a list of exclusions.
func excluded(list []any) (ids []any, globs []*match.Glob) {
	for _, item := range list {
		m, _ := item.(*data.Map)
		sls, isText := item.(string)
		if m.Len() == 1 {
			if id := m.Value("id"); id != nil && data.Hashable(id) {
				ids = append(ids, id)
			}
			sls, isText = m.Value("sls").(string)
		}
		if isText {
			globs = append(globs, match.CompileGlob(sls))
		}
	}
	return ids, globs
}
