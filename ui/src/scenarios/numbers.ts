/** Numbers of scenarios as people read them: shares in percent, seconds as durations, as Kubernetes writes them. */

export function valueWords(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined) return "–";
  if (unit === "share") return `${digits(value * 100)} %`;
  if (unit === "s") return duration(value);
  return digits(value);
}

/** A change, with its sign; shares change by percentage points. */
export function changeWords(value: number, unit: string): string {
  const sign = value > 0 ? "+" : value < 0 ? "−" : "±";
  const size = Math.abs(value);
  if (unit === "share") return `${sign}${digits(size * 100)} pp`;
  return `${sign}${valueWords(size, unit)}`;
}

function digits(value: number): string {
  return Number(value.toPrecision(4)).toLocaleString("en");
}

/** `1h5m`, `2m3s`, `1.25s`, `12ms` */
export function duration(seconds: number): string {
  if (seconds < 0) return `−${duration(-seconds)}`;
  if (seconds === 0) return "0s";
  if (seconds < 1) return `${Number((seconds * 1000).toPrecision(3))}ms`;
  if (seconds < 60) return `${Number(seconds.toPrecision(4))}s`;
  const whole = Math.round(seconds);
  const parts = [
    [Math.floor(whole / 86400), "d"],
    [Math.floor(whole / 3600) % 24, "h"],
    [Math.floor(whole / 60) % 60, "m"],
    [whole % 60, "s"],
  ] as const;
  return parts
    .filter(([amount]) => amount)
    .slice(0, 2)
    .map(([amount, unit]) => `${amount}${unit}`)
    .join("");
}

/** A round number at or above a value, for the top of an axis. */
export function roundTop(value: number): number {
  if (value <= 0) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 2.5, 5, 10].find((step) => step * size >= value) ?? 10) * size;
}
