// The programs of Go read random numbers with a function that Wine 8 does not have.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG size); // RtlGenRandom

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T size) {
	return SystemFunction036(buffer, (ULONG)size);
}
