// `weir types`: reads a document of OpenAPI, and writes its declarations.

import { readFileSync, writeFileSync } from 'node:fs'

import type { TypesCommand } from './arguments.ts'
import { DocumentError } from './types/api-document.ts'
import { declarationsOf } from './types/declarations.ts'

const STDIN = 0

/** The document cannot be read, or the declarations cannot be written. */
export class TypesError extends Error {}

/** @returns the declarations, or null if they are in a file @throws TypesError */
export function typesOf({ file, out }: TypesCommand): string | null {
  const name = file ?? 'stdin'
  const text = attempt(() => readFileSync(file ?? STDIN, 'utf8'), `cannot read ${name}`)
  let declarations: string
  try {
    declarations = declarationsOf(text)
  } catch (error) {
    if (error instanceof DocumentError) throw new TypesError(`${name}: ${error.message}`)
    throw error
  }
  if (out === null) return declarations
  attempt(() => writeFileSync(out, declarations), `cannot write ${out}`)
  return null
}

function attempt<T>(act: () => T, what: string): T {
  try {
    return act()
  } catch (error) {
    throw new TypesError(`${what}: ${(error as Error).message}`)
  }
}
