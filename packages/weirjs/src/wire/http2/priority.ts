// Reads the Priority field, and the field value of PRIORITY_UPDATE, which is the same (RFC 9218 §4, §5, §7.1).

const DEFAULT_URGENCY = 3
const LEAST_URGENT = 7
/** No valid priority needs more. */
const MOST_CHARS = 256
const MOST_MEMBERS = 8 // many short ones would take much more time than a long one
/** A member of a dictionary (RFC 8941 §3.2), whose parameters are ignored. */
const MEMBER = /^[ \t]*([a-z*][a-z0-9_.*-]*)(?:=([^;,"\s]*|"[^",]*"))?(?:;[^,]*)?[ \t]*$/

export interface Priority {
  readonly urgency: number
  readonly isIncremental: boolean
}

/** @returns null for a value that is not a dictionary: it is ignored, because a priority is a hint */
export function readPriority(value: string): Priority | null {
  if (value.length > MOST_CHARS) return null
  let urgency = DEFAULT_URGENCY
  let isIncremental = false
  if (value.trim() === '') return { urgency, isIncremental }
  for (const member of value.split(',', MOST_MEMBERS)) {
    const parts = MEMBER.exec(member)
    if (parts === null) return null
    const text = parts[2]
    // Values of another type, or out of range, are ignored (§4).
    if (parts[1] === 'u' && text !== undefined && /^\d$/.test(text) && Number(text) <= LEAST_URGENT) urgency = Number(text)
    if (parts[1] === 'i' && (text === undefined || text === '?1' || text === '?0')) isIncremental = text !== '?0'
  }
  return { urgency, isIncremental }
}
