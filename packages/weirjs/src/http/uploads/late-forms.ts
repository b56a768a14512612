// Loads what reads multipart forms when it is needed: for a route that declares one, otherwise for the first form. Many programs need none of it.

import type { RequestBody } from '../body/body.ts'

export type Forms = typeof import('./forms.ts')

let forms: Forms | null = null

export async function loadForms(): Promise<Forms> {
  forms ??= await import('./forms.ts')
  return forms
}

/** @param body which nothing else reads in the meantime; null: none is read */
export function withForms<T>(body: RequestBody | null, use: (forms: Forms) => Promise<T>): Promise<T> {
  if (forms !== null) return use(forms)
  return body === null ? loadForms().then(use) : body.takeAfter(loadForms(), use)
}
