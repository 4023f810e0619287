package nftables

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type buildArgs struct {
	Table    any       `default:"None"`
	Chain    any       `default:"None"`
	Command  any       `default:"None"`
	Position any       `default:"''"`
	Full     any       `default:"None"`
	Family   any       `default:"'ipv4'"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// buildRule returns a rule of nftables as text. Further arguments are its parts: if, of, proto,
// connstate, icmp-type, pkttype, counter, source (saddr), destination (daddr), dport, sport, dports,
// sports, jump, redirect-to, to-source, to-destination, reject-with.
//
// full
//
//	True: return a whole command with table, chain, command and position.
//
// CLI Example:
//
//	salt '*' nftables.build_rule connstate=related,established jump=accept
//	salt '*' nftables.build_rule filter input command=insert position=3 full=True jump=accept
func (m *module) buildRule(_ context.Context, a buildArgs) (any, error) {
	family, err := familyOf(a.Family)
	if err != nil {
		return nil, err
	}
	rule, err := build(a.Kwargs, family)
	if err != nil {
		return nil, err
	}
	result := data.NewMap("comment", "", "rule", rule, "result", false)
	if a.Full == true || a.Full == "True" || a.Full == "true" {
		for _, need := range []struct {
			v    any
			text string
		}{{a.Table, noTable}, {a.Chain, noChain}, {a.Command, "Command needs to be specified"}} {
			if !data.Truth(need.v) {
				result.Set("comment", need.text)
				return result, nil
			}
		}
		command := data.Str(a.Command)
		if slices.Contains([]string{"Insert", "INSERT"}, command) {
			command = "insert"
		}
		words := []string{"nft", command, "rule", family, data.Str(a.Table), data.Str(a.Chain)}
		if command == "insert" && data.Truth(a.Position) {
			words = append(words, "position", data.Str(a.Position))
		}
		result.Set("rule", strings.Join(append(words, rule), " "))
	}
	if result.Text("rule") != "" {
		result.Set("comment", "Successfully built rule")
	}
	result.Set("result", true)
	return result, nil
}

// build returns the text of a rule. Salt's comment in build_rule tells why ports are sorted from high
// to low; this module finds them in any order.
func build(kwargs *data.Map, family string) (string, error) {
	var b strings.Builder
	text := func(key string) string { return data.Str(kwargs.Value(key)) }
	add := func(key, before, after string) {
		if kwargs.Has(key) {
			b.WriteString(before + text(key) + after)
		}
	}
	either := func(before string, keys ...string) {
		for i, key := range keys {
			if kwargs.Has(key) && (data.Truth(kwargs.Value(key)) || i+1 == len(keys) ||
				!kwargs.Has(keys[i+1])) {
				b.WriteString(before + text(key) + " ")
				return
			}
		}
	}
	add("if", "meta iifname ", " ")
	add("of", "meta oifname ", " ")
	add("connstate", "ct state { ", " } ")
	add("icmp-type", "icmp type { ", " } ")
	add("pkttype", "meta pkttype { ", " } ")
	if kwargs.Has("counter") {
		b.WriteString("counter ")
	}
	either(family+" saddr ", "saddr", "source")
	either(family+" daddr ", "daddr", "destination")
	for _, key := range []string{"dport", "sport"} {
		if kwargs.Has(key) {
			b.WriteString(key + " { " + strings.ReplaceAll(text(key), ":", "-") + " } ")
		}
	}
	for _, key := range []string{"dports", "sports"} {
		if !kwargs.Has(key) {
			continue
		}
		ports, err := sorted(text(key))
		if err != nil {
			return "", err
		}
		b.WriteString(strings.TrimSuffix(key, "s") + " { " + ports + " } ")
	}
	target := "jump"
	if kwargs.Has("target") {
		target = "target"
	}
	add(target, "", " ")
	add("j", "", " ")
	either("redirect to ", "redirect-to", "to-port")
	add("to-ports", "--to-ports ", " ")
	add("to-source", "", " ")
	add("to-destination", "", " ")
	add("reject-with", "reject with ", " ")
	rule := strings.TrimSpace(b.String())
	proto := ""
	if kwargs.Has("proto") {
		proto = text("proto")
	}
	rule = strings.ReplaceAll(rule, "dport", proto+" dport")
	return strings.ReplaceAll(rule, "sport", proto+" sport"), nil
}

// sorted returns port numbers from high to low.
func sorted(ports string) (string, error) {
	var numbers []int64
	for _, port := range strings.Split(ports, ",") {
		n, err := loader.Int(strings.TrimSpace(port))
		if err != nil {
			return "", err
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	slices.Reverse(numbers)
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = data.Str(n)
	}
	return strings.Join(texts, ", "), nil
}
