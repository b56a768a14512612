// Whether a body fits what its route declares: read by the same reader as the body of a real request.

import { systemClock } from '../../base/clock.ts'
import { isPromise } from '../../base/is-promise.ts'
import type { RequestHead } from '../../http/application.ts'
import { RequestBody } from '../../http/body/body.ts'
import type { BodySettings } from '../../http/body/body-reader.ts'
import { VerifiedBody } from '../../http/body/verified-body.ts'
import { holdsForeign } from '../../schema/parts-within.ts'
import type { Route } from '../routes/route.ts'

/** A body that is explained. */
export interface AskedContent {
  readonly bytes: Buffer
  readonly settings: BodySettings
}

/** The error that reading it threw, or null if it fits; and whether it could be checked. */
export interface CheckedBody {
  readonly isChecked: boolean
  readonly error: unknown
}

const NOT_CHECKED: CheckedBody = Object.freeze({ isChecked: false, error: null })

/** No code of the program receives anything of the request: no schema of another library, no JSON engine and no decoder. */
export function checkedBody(route: Route | null, head: RequestHead, content: AskedContent | null): CheckedBody {
  const reader = route?.body ?? null
  if (content === null || reader === null || content.settings.jsonEngine !== null) return NOT_CHECKED
  const { bytes } = content
  const { declared } = reader
  if (bytes.length === 0 || head.contentLength !== bytes.length || head.get('content-encoding') !== null) return NOT_CHECKED
  if (
    declared instanceof VerifiedBody ||
    declared.kind === 'multipart' ||
    reader.isStreamed ||
    (declared.schema !== null && holdsForeign(declared.schema))
  )
    return NOT_CHECKED
  const body = new RequestBody(bytes.length, null)
  body.push(bytes, 0, bytes.length, false)
  body.finish()
  try {
    const value = reader.read(head.contentType, body, content.settings, { head, clock: systemClock })
    return isPromise(value) ? NOT_CHECKED : { isChecked: true, error: null }
  } catch (error) {
    return { isChecked: true, error }
  }
}
