// `weir types`: reads a document of OpenAPI, and writes its declarations.

import { readFile, writeFile } from 'node:fs/promises'
import { text as textOf } from 'node:stream/consumers'

import type { TypesCommand } from './arguments.ts'
import { DocumentError } from './types/api-document.ts'
import { declarationsOf } from './types/declarations.ts'

/** The document cannot be read, or the declarations cannot be written. */
export class TypesError extends Error {}

/** @returns the declarations, or null if they are in a file @throws TypesError */
export async function typesOf({ file, out }: TypesCommand): Promise<string | null> {
  const name = file ?? 'stdin'
  // As a stream: a pipe may not block, and a synchronous read would then fail until the other program has written.
  const text = await attempt(file === null ? textOf(process.stdin) : readFile(file, 'utf8'), `cannot read ${name}`)
  let declarations: string
  try {
    declarations = declarationsOf(text)
  } catch (error) {
    if (error instanceof DocumentError) throw new TypesError(`${name}: ${error.message}`)
    throw error
  }
  if (out === null) return declarations
  await attempt(writeFile(out, declarations), `cannot write ${out}`)
  return null
}

async function attempt<T>(act: Promise<T>, what: string): Promise<T> {
  try {
    return await act
  } catch (error) {
    throw new TypesError(`${what}: ${(error as Error).message}`)
  }
}
