package saltjinja

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// pureFilters are the filters whose result depends only on their arguments. A new filter must be
// listed here or in impureFilters.
const pureFilters = `append_dict_key_value avg base64_decode base64_encode
	check_whitelist_blacklist compare_dicts compare_lists contains_whitespace exactly_n_true exactly_one_true extend_dict_key_value
	filter_by_networks flatten from_entries hmac hmac_compute human_to_bytes
	ip_host ipaddr ipv4 ipv6 ipwrap is_hex is_ip is_ipv4 is_ipv6 is_iter is_list
	json_decode_dict json_decode_list json_encode_dict json_encode_list json_query json_safe_dump
	mac_str_to_bytes max md5 method_call min mysql_to_dict network_hosts network_size
	path_join quote regex_escape regex_match regex_replace regex_search
	sequence set_dict_key_value sha1 sha256 sha512 skip sorted_ignorecase str_to_num strip_proto substring_in_list
	to_bool to_bytes to_camelcase to_entries to_num to_snake_case traverse
	update_dict_key_value uuid
	combinations combinations_with_replacement compress dict_to_sls_yaml_params difference intersect json load_json load_text load_yaml
	permutations product python symmetric_difference tojson union unique xml yaml yaml_dquote yaml_encode yaml_squote zip zip_longest`

func TestFiltersAreClassified(t *testing.T) {
	known := append(strings.Fields(pureFilters), impureFilters()...)
	all := slices.Sorted(maps.Keys(filters()))
	for _, name := range all {
		if !slices.Contains(known, name) {
			t.Errorf("filter %s is in neither pureFilters nor impureFilters", name)
		}
	}
	for _, name := range impureFilters() {
		if !slices.Contains(all, name) {
			t.Errorf("there is no filter %s", name)
		}
	}
}

// TestImpureSourcesAreKnown checks that source files that access anything outside of the process
// are ones whose filters are known to do so.
func TestImpureSourcesAreKnown(t *testing.T) {
	reach := regexp.MustCompile(`\b(time\.Now|time\.Local|rand\.[A-Z]|net\.(Dial|Default|Look)|os\.(Stat|Open|Read|Get)|exec\.|http\.)`)
	want := []string{"errors.go", "filters_date.go", "filters_file.go", "filters_hash.go",
		"filters_list.go", "filters_network.go", "filters_other.go", "filters_text.go", "tags.go",
		"folder.go"} // only external sources use it, and these are asked each time
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") && reach.Match(src) && !slices.Contains(want, file) {
			t.Errorf("%s reaches out of the process by %s: its filters belong in impureFilters",
				file, reach.Find(src))
		}
	}
}

func TestRenderingReportsImpureInputs(t *testing.T) {
	reg, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := render.New(render.Options{Env: reg.Env(),
		Renderers: []render.Renderer{New(), render.YAML{}, render.GPG{}}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"a: {{ [1, 2] | join('-') }}":                    "",
		"a: {{ [1, 2] | random }}":                       "filter random",
		"a: {{ None | strftime }}":                       "filter strftime",
		"a: {{ 5 | random_hash }}":                       "filter random_hash",
		"{% if false %}{{ 5 | random_hash }}{% endif %}": "",
		"{% set x = [4] | random_shuffle %}":             "filter random_shuffle",
		"#!yaml|gpg\na: b":                               "renderer gpg",
	} {
		var told []string
		ctx := render.Watch(t.Context(), func(what string) { told = append(told, what) })
		if _, err := e.Render(ctx, render.Input{Text: text, Path: "/x.sls", SLS: "x",
			SaltEnv: "base"}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := strings.Join(told, ", "); got != want {
			t.Errorf("%s tells %q, want %q", text, got, want)
		}
	}
}
