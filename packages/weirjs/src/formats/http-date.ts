// Dates in header fields (RFC 9110 §5.6.7): one format is written, three are read.

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const LONG_DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

// Sun, 06 Nov 1994 08:49:37 GMT
const IMF_FIXDATE = /^([A-Z][a-z]{2}), (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/
// Sunday, 06-Nov-94 08:49:37 GMT
const RFC850_DATE = /^([A-Z][a-z]{5,8}), (\d{2})-([A-Z][a-z]{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2}) GMT$/
// Sun Nov  6 08:49:37 1994
const ASCTIME_DATE = /^([A-Z][a-z]{2}) ([A-Z][a-z]{2}) (\d{2}| \d) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/

/**
 * Formats `time` (milliseconds since 1970) as IMF-fixdate, the only format that may be sent: `Sun, 06 Nov 1994 08:49:37 GMT`. Fractions of
 * a second are dropped.
 *
 * @throws RangeError for a time outside the years 0 to 9999, which the format cannot represent
 */
export function formatHttpDate(time: number): string {
  const date = new Date(time)
  const year = date.getUTCFullYear()
  if (!(year >= 0 && year <= 9999)) throw new RangeError(`${time} is not a time in the years 0 to 9999`)
  return date.toUTCString()
}

/**
 * The time that `text` means, in milliseconds since 1970, or null if it is not exactly one of the three formats. A day that the month does
 * not have and a weekday that does not fit the day are refused, because such a date contradicts itself. A leap second is read as the second
 * after it.
 *
 * @param now milliseconds since 1970, for two-digit years: a year that seems more than 50 years in the future is the latest past year with
 *   these digits
 */
export function parseHttpDate(text: string, now: number): number | null {
  let match = IMF_FIXDATE.exec(text)
  if (match !== null) {
    const [, weekday, day, month, year, hour, minute, second] = match
    return timeOf(DAYS.indexOf(weekday!), Number(year), MONTHS.indexOf(month!), Number(day), Number(hour), Number(minute), Number(second))
  }
  match = ASCTIME_DATE.exec(text)
  if (match !== null) {
    const [, weekday, month, day, hour, minute, second, year] = match
    return timeOf(DAYS.indexOf(weekday!), Number(year), MONTHS.indexOf(month!), Number(day), Number(hour), Number(minute), Number(second))
  }
  match = RFC850_DATE.exec(text)
  if (match === null) return null
  const [, weekday, day, month, digits, hour, minute, second] = match
  const thisYear = new Date(now).getUTCFullYear()
  // The year with these digits in (thisYear - 50, thisYear + 50].
  let year = thisYear - (thisYear % 100) + Number(digits)
  if (year > thisYear + 50) year -= 100
  else if (year <= thisYear - 50) year += 100
  return timeOf(LONG_DAYS.indexOf(weekday!), year, MONTHS.indexOf(month!), Number(day), Number(hour), Number(minute), Number(second))
}

function timeOf(weekday: number, year: number, month: number, day: number, hour: number, minute: number, second: number): number | null {
  if (weekday === -1 || month === -1 || hour > 23 || minute > 59) return null
  if (second > 59 && !(second === 60 && minute === 59 && hour === 23)) return null
  const date = new Date(0)
  date.setUTCFullYear(year, month, day) // Date.UTC would read the years 0 to 99 as 1900 to 1999
  if (date.getUTCMonth() !== month || date.getUTCDay() !== weekday) return null
  return date.setUTCHours(hour, minute, second)
}
