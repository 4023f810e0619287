package pyrandom_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/brineproject/brine/internal/pyrandom"
)

// TestNumbers compares with Python 3.11: random.Random(seed).getrandbits(32) three times, and then
// randrange(range).
func TestNumbers(t *testing.T) {
	number := func(s string) *pyrandom.Twister {
		n, _ := new(big.Int).SetString(s, 10)
		return pyrandom.FromInt(n)
	}
	for _, tt := range []struct {
		name  string
		t     *pyrandom.Twister
		bits  [3]uint32
		upTo  uint64
		below uint64
	}{
		{"the number 0", number("0"), [3]uint32{3626764237, 1654615998, 3255389356}, 1000, 911},
		{"the number 1", number("1"), [3]uint32{577090037, 2444712010, 3639700191}, 1000, 821},
		{"the number -1", number("-1"), [3]uint32{577090037, 2444712010, 3639700191}, 1000, 821},
		{"the number 5489", number("5489"), [3]uint32{3382763572, 956215839, 417760592}, 1000, 39},
		{"the number 4294967296", number("4294967296"),
			[3]uint32{485306839, 1508871100, 1794561286}, 1000, 957},
		{"the number 18446744073709563961", number("18446744073709563961"),
			[3]uint32{2632172, 2355889752, 3906953032}, 1000, 434},
		{"the number -1180591620717411303424", number("-1180591620717411303424"),
			[3]uint32{999817988, 4080621250, 1782696399}, 1000, 501},
		{"a large range", number("7"), [3]uint32{1390851128, 4071050724, 647892279},
			4611686018427387905, 668106803327565776},
		{"a range of one", number("7"), [3]uint32{1390851128, 4071050724, 647892279}, 1, 0},
		{"the text ", pyrandom.FromText(""), [3]uint32{4124137760, 1951988028, 2557274880}, 10, 3},
		{"the text web1", pyrandom.FromText("web1"), [3]uint32{3523823858, 1405243075, 1122038504}, 10, 5},
		{"the text €", pyrandom.FromText("€"), [3]uint32{940220193, 2485630051, 2819886139}, 10, 1},
		{"the text aaaaaaaa", pyrandom.FromText("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), [3]uint32{312046798, 3010680493, 4270476195}, 10, 0},
		{"the float 1.5", pyrandom.FromFloat(1.5), [3]uint32{2369807148, 3534653101, 1099911448}, 7, 1},
		{"the float -1.5", pyrandom.FromFloat(-1.5), [3]uint32{3049922142, 1895599190, 3396863}, 7, 2},
		{"the float 0.1", pyrandom.FromFloat(0.1), [3]uint32{3462851686, 1038428652, 594006205}, 7, 3},
		{"the float 1e+300", pyrandom.FromFloat(1e+300), [3]uint32{1122766155, 160158260, 291042395}, 7, 5},
		{"the float -2.305843009213694e+18", pyrandom.FromFloat(-2.305843009213694e+18),
			[3]uint32{563479156, 3190493702, 1306021862}, 7, 5},
		{"the float 3.0", pyrandom.FromFloat(3.0), [3]uint32{1022050301, 2545373330, 2337446730}, 7, 1},
		{"the float 5e-324", pyrandom.FromFloat(5e-324), [3]uint32{2056082574, 4212872643, 1780193951}, 7, 3},
		{"the float inf", pyrandom.FromFloat(math.Inf(1)),
			[3]uint32{826196214, 1180060831, 1231978967}, 7, 0},
		{"the float -inf", pyrandom.FromFloat(math.Inf(-1)),
			[3]uint32{3525451760, 3478824123, 1254833236}, 7, 4},
		{"the float 2.305843009213694e+18", pyrandom.FromFloat(2.305843009213694e+18),
			[3]uint32{577090037, 2444712010, 3639700191}, 7, 6},
	} {
		for i, want := range tt.bits {
			if got := tt.t.Uint32(); got != want {
				t.Errorf("%s: number %d is %d, want %d", tt.name, i, got, want)
			}
		}
		if got := tt.t.Below(tt.upTo); got != tt.below {
			t.Errorf("%s: below %d it gives %d, want %d", tt.name, tt.upTo, got, tt.below)
		}
	}
}

// TestSample compares with random.Random("x").sample(range(n), size).
func TestSample(t *testing.T) {
	for _, tt := range []struct {
		n, size int
		want    []int
	}{
		{5, 5, []int{2, 3, 0, 1, 4}},
		{10, 3, []int{5, 7, 1}},
		{21, 5, []int{20, 10, 15, 2, 12}},
		{22, 5, []int{20, 10, 19, 15, 2}},
		{100, 5, []int{80, 40, 76, 61, 8}},
		{100, 6, []int{80, 40, 76, 61, 8, 97}},
		{85, 6, []int{80, 40, 76, 82, 61, 8}},
		{86, 6, []int{80, 40, 76, 61, 8, 49}},
		{1000, 10, []int{645, 322, 611, 614, 495, 66, 781, 941, 396, 604}},
		{3, 0, []int{}},
		{0, 0, []int{}},
		{200, 70, []int{161, 80, 152, 153, 123, 16, 99, 151, 117, 171, 115, 97, 43, 96, 122, 145,
			128, 129, 3, 88, 182, 13, 47, 179, 121, 155, 191, 15, 60, 2, 36, 165, 194, 89, 176, 75,
			199, 83, 100, 189, 22, 143, 20, 11, 188, 148, 38, 79, 98, 142, 107, 76, 5, 55, 29, 162,
			167, 48, 126, 186, 26, 101, 87, 86, 131, 90, 112, 35, 138, 133}},
	} {
		if got := pyrandom.Sample(tt.n, tt.size, pyrandom.FromText("x").Below); !slices.Equal(got, tt.want) {
			t.Errorf("%d of %d: %v, want %v", tt.size, tt.n, got, tt.want)
		}
	}
}
