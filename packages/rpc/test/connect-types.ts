// The declarations of Connect name a type of browsers, which the types of Node 20 lack.

declare global {
  type HeadersInit = ConstructorParameters<typeof Headers>[0]
}

export {}
