// Names of the DOM that the declarations of effect mention. Node has such values, but @types/node 20 declares no global types for them.

declare global {
  type CryptoKey = import('node:crypto').webcrypto.CryptoKey
  type JsonWebKey = import('node:crypto').webcrypto.JsonWebKey
  interface Storage {
    readonly length: number
    getItem(key: string): string | null
    setItem(key: string, value: string): void
    removeItem(key: string): void
    clear(): void
    key(index: number): string | null
  }
}

export {}
