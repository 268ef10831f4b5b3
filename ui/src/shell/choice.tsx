interface ChoiceProps {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  /** Whether its label is for screen readers only, where the options speak for themselves. */
  isTerse?: boolean;
  onChoose(value: string): void;
}

/** A drop-down list with its label. */
export function Choice({ label, value, options, isTerse = false, onChoose }: ChoiceProps) {
  return (
    <label class="choice" title={isTerse ? label : undefined}>
      <span class={isTerse ? "visually-hidden" : ""}>{label}</span>
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
