package auth

// FromRights returns an identity with the rights in a list, to tell what these allow. It belongs to no
// gate: MayRun works, and MayPublish only for functions that are allowed on all minions; see Places.
func FromRights(name string, list any) *Identity {
	all, _ := parseRules(list)
	return &Identity{Name: name, Kind: ByEauth, rules: all}
}

// Places returns where the user may run a function with arguments: on all minions, or wherever all
// targeted minions are in one of the compound targets.
func (i *Identity) Places(fun string, args []any) (everywhere bool, targets []string) {
	if i.full {
		return true, nil
	}
	if !isFunction(fun) {
		return false, nil
	}
	if fun == findJob || i.rules.allowsEverywhere(fun) {
		return true, nil
	}
	for _, r := range i.rules {
		if r.tgt != "" && allow(r.calls, fun, bind(args)) {
			targets = append(targets, r.tgt)
		}
	}
	return false, targets
}
