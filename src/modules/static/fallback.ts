// Whether a request that found no file is that of a page which routes in the browser: then it is given the page of the application.

import { BYTES_TYPE } from '../../formats/media-type.ts'
import { typeOf } from '../../http/files/file.ts'
import type { HttpRequest } from '../../http/request/request.ts'

/** What the answer depends on. */
export const FALLBACK_VARY = ['Accept', 'Sec-Fetch-Mode']

/** A person goes there: browsers say so in Sec-Fetch-Mode, where they say anything; else a client that takes pages is meant. */
export function isNavigation(request: HttpRequest): boolean {
  const mode = request.header('sec-fetch-mode')
  return mode === null ? /\btext\/html\b/i.test(request.header('accept') ?? '') : mode === 'navigate'
}

/** Not where the last segment ends as a file of a known type: a picture that is missing is a 404, whoever asks. */
export async function isPagePath({ path }: HttpRequest): Promise<boolean> {
  return (await typeOf(path.slice(path.lastIndexOf('/') + 1))) === BYTES_TYPE
}
