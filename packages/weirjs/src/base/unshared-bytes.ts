/**
 * Bytes in memory that no other thread writes to, which `fetch`, `Blob` and Web Crypto require if the compiler has the `dom` library. The
 * type is `Uint8Array<ArrayBuffer>`, written so that TypeScript before 5.7 understands it too.
 */
export type UnsharedBytes = ReturnType<Uint8Array['slice']>
