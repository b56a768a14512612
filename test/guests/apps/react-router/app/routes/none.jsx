import { data } from 'react-router'

export const loader = () => data(null, { status: 404 })

export default function None() {
  return <h1>Nothing here</h1>
}
