package iptables

import "strings"

// ruleOptions are the options of iptables(8), iptables-extensions(8) and xtables-addons(8) that are
// recognized in rules, in the order in which they are reported. An option with further spellings
// has them after an equals sign.
const ruleOptions = `
	append=-A,--append delete=-D,--delete insert=-I,--insert replace=-R,--replace list=-L,--list flush=-F,--flush zero=-Z,--zero
	new-chain=-N,--new-chain delete-chain=-X,--delete-chain policy=-P,--policy rename-chain=-E,--rename-chain protocol=-p,--protocol
	source=-s,--source destination=-d,--destination jump=-j,--jump goto=-g,--goto in-interface=-i,--in-interface
	out-interface=-o,--out-interface fragment=-f,--fragment set-counters=-c,--set-counters match=-m,--match src-type dst-type
	limit-iface-in limit-iface-out ahspi ahlen ahres bytecode cgroup cluster-total-nodes cluster-local-node cluster-local-nodemask
	cluster-hash-seed h-length mangle-mac-s mangle-mac-d comment connbytes connbytes-dir connbytes-mode label connlimit-upto
	connlimit-above connlimit-mask connlimit-saddr connlimit-daddr mark ctstate ctproto ctorigsrc ctorigdst ctreplsrc ctrepldst
	ctorigsrcport ctorigdstport ctreplsrcport ctrepldstport ctstatus ctexpire ctdir cpu source_port=--sport,--source-port
	destination_port=--dport,--destination-port dccp-types dccp-option src-group dst-group dscp dscp-class dst-len dst-opts
	ecn-tcp-cwr ecn-tcp-ece ecn-ip-ect espspi fragid fraglen fragres fragfirst fragmore fraglast hashlimit-upto hashlimit-above
	hashlimit-burst hashlimit-mode hashlimit-srcmask hashlimit-dstmask hashlimit-name hashlimit-htable-size hashlimit-htable-max
	hashlimit-htable-expire hashlimit-htable-gcinterval hbh-len hbh-opts helper hl-eq hl-lt hl-gt icmp-type icmpv6-type src-range
	dst-range soft header ipvs vproto vaddr vport vdir vmethod vportctl length limit limit-burst mac-source mh-type
	source-ports=--sports,--source-ports destination-ports=--dports,--destination-ports ports nfacct-name genre ttl log uid-owner
	gid-owner socket-exists physdev-in physdev-out physdev-is-in physdev-is-out physdev-is-bridged pkt-type dir pol strict reqid spi
	proto mode tunnel-src tunnel-dst next quota rateest rateest1 rateest2 rateest-delta rateest-bps rateest-bps1 rateest-bps2
	rateest-pps rateest-pps1 rateest-pps2 rateest-lt rateest-gt rateest-eq rateest-name rateest-interval rateest-ewma realm name set
	rsource rdest mask rcheck update remove seconds reap hitcount rttl loose validmark accept-local invert rt-type rt-segsleft rt-len
	rt-0-res rt-0-addrs rt-0-not-strict chunk-types match-set return-nomatch update-counters update-subcounters packets-eq packets-lt
	packets-gt bytes-eq bytes-lt bytes-gt transparent nowildcard state probability every packet algo from to string hex-string
	tcp-flags syn tcp-option mss datestart datestop timestart timestop monthdays weekdays contiguous kerneltz utc localtz tos ttl-eq
	ttl-gt ttl-lt u32 condition mac lower-limit upper-limit source-country=--src-cc,--source-country
	destination-country=--dst-cc,--destination-country enabled disabled iface dev-in dev-out up down broadcast loopback pointtopoint
	running noarp arp promisc multicast dynamic lower-up dormant edk kazaa gnu dc bit apple soul winmx ares debug flags any layer3
	layer4 layer5 stealth synscan cnscan grscan psd-weight-threshold psd-delay-threshold psd-lo-ports-weight psd-hi-ports-weight grow
	no-change packets knockports time autoclose checkip type checksum-fill set-class new hashmode clustermac total-nodes local-node
	hash-init set-xmark save-mark restore-mark and-mark or-mark xor-mark set-mark nfmask ctmask save restore notrack ctevents
	expevents zone timeout to-destination random persistent src-pfx dst-pfx set-dscp set-dscp-class ecn-tcp-remove hl-set hl-dec
	hl-inc hmark-tuple hmark-mod hmark-offset hmark-src-prefix hmark-dst-prefix hmark-sport-mask hmark-dport-mask hmark-spi-mask
	hmark-proto-mask hmark-rnd led-trigger-id led-delay led-always-blink log-level log-prefix log-tcp-sequence log-tcp-options
	log-ip-options log-uid to-ports nflog-group nflog-prefix nflog-range nflog-threshold queue-num queue-balance queue-bypass
	queue-cpu-fanout rateest-ewmalog reject-with nodst selctx add-set del-set exist to-source set-mss clamp-mss-to-pmtu strip-options
	gateway set-tos and-tos or-tos xor-tos on-port on-ip tproxy-mark ttl-set ttl-dec ttl-inc ulog-nlgroup ulog-prefix ulog-cprange
	ulog-qthreshold addr tname delude tarpit set-mac prefix reuse static and-mask or-mask shift honeypot reset
`

// jumpOptions are the options that belong to a jump, in the order in which they must follow it.
const jumpOptions = `
	j jump add-set and-mark and-tos checksum-fill clamp-mss-to-pmtu clustermac ctevents ctmask del-set ecn-tcp-remove exist expevents
	gateway hash-init hashmode helper label local-node log-ip-options log-level log-prefix log-tcp-options log-tcp-sequence log-uid
	mask new nfmask nflog-group nflog-prefix nflog-range nflog-threshold nodst notrack on-ip on-port or-mark or-tos persistent
	queue-balance queue-bypass queue-num random rateest-ewmalog rateest-interval rateest-name reject-with restore restore-mark
	save-mark selctx set-class set-dscp set-dscp-class set-mark set-mss set-tos set-xmark strip-options timeout to to-destination
	to-ports to-source total-nodes tproxy-mark ttl-dec ttl-inc ttl-set type ulog-cprange ulog-nlgroup ulog-prefix ulog-qthreshold
	xor-mark xor-tos zone dst-pfx hl-dec hl-inc hl-set hmark-dport-mask hmark-dst-prefix hmark-mod hmark-offset hmark-proto-mask
	hmark-rnd hmark-spi-mask hmark-sport-mask hmark-src-prefix hmark-tuple led-always-blink led-delay led-trigger-id queue-cpu-fanout
	src-pfx to-port addr and-mask delude honeypot or-mask prefix reset reuse set-mac shift static tarpit tname ttl
`

// An optionName is a word of a rule and the name under which it is reported.
type optionName struct{ word, reported string }

// ruleNames returns the words of all rule options with the names under which they are reported, in
// order.
func ruleNames() []optionName {
	var names []optionName
	for _, entry := range strings.Fields(ruleOptions) {
		reported, more, _ := strings.Cut(entry, "=")
		if more == "" {
			more = "--" + reported
		}
		for word := range strings.SplitSeq(more, ",") {
			names = append(names, optionName{word, reported})
		}
	}
	return names
}
