/**
 * Bytes in memory that no other thread writes to: what `fetch`, `Blob` and Web Crypto take, where the compiler knows them from its own
 * library `dom`. It is `Uint8Array<ArrayBuffer>`, said so that TypeScript before 5.7 reads it as well.
 */
export type UnsharedBytes = ReturnType<Uint8Array['slice']>
